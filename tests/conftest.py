"""Fixtures for every folder of tests. Helper modules are in tests/support, which is on the path."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings
from prometheus_process import PrometheusServer, running_prometheus

# What most users have: the default install. The extra `fast` has its own tests, and the fault suite runs over both.
os.environ.setdefault("MEMOTEL_HTTP_ENGINE", "httpcore")
os.environ.setdefault("MEMOTEL_LOOP", "asyncio")

settings.register_profile(
    "memotel", deadline=None
)  # how long an example takes is the machine's affair
settings.load_profile("memotel")

StartPrometheus = Callable[..., PrometheusServer]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse names that hold an address: workers of one run would not agree about them."""
    unstable = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if unstable:
        raise pytest.UsageError(f"give these parameters ids: {', '.join(unstable[:3])}")


@pytest.fixture
def prometheus_server(tmp_path: Path) -> Iterator[StartPrometheus]:
    """Return `start(targets, *, job="memotel", scrape_interval="1s") -> PrometheusServer`; all end with the test."""
    with ExitStack() as stack:

        def start(targets: list[str], **options: str) -> PrometheusServer:
            folder = tmp_path / f"prometheus-{len(list(tmp_path.iterdir()))}"
            return stack.enter_context(running_prometheus(folder, targets, **options))

        yield start
