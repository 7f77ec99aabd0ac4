"""Metadata that cannot be written out is no reason to lose a turn, or to raise into an agent."""

from pathlib import Path
from typing import Any

import pytest

from memotel import Adapter, MemoryClient, Provider, Scope, Speaker, Turn, resolve
from memotel.devserver import DevServer
from memotel.values import ReceiptStatus


def nested(depth: int) -> dict[str, Any]:
    outer: dict[str, Any] = {}
    inner = outer
    for _ in range(depth):
        inner["inside"] = inner = {}
    return outer


@pytest.mark.parametrize("provider", list(Provider), ids=str)
@pytest.mark.parametrize("is_on_disk", [False, True], ids=["memory", "disk"])
@pytest.mark.parametrize(
    "metadata", [{"number": 10**5_000}, nested(5_000)], ids=["long number", "deep nesting"]
)
def test_turn_is_kept_whatever_its_metadata(
    provider: Provider, metadata: dict[str, Any], tmp_path: Path, *, is_on_disk: bool
) -> None:
    outbox = f"sqlite://{tmp_path / 'outbox'}" if is_on_disk else "memory"
    with DevServer() as server:
        key = "rk_odd" if provider is Provider.REKALL else "ms_odd"
        settings = resolve(provider, Adapter.DIRECT, url=server.url, api_key=key, outbox=outbox)
        with MemoryClient(settings) as client:
            turn = Turn(Scope("ada", "s"), Speaker.HUMAN, "I keep seven hives.", metadata=metadata)
            assert client.write(turn).status is ReceiptStatus.ACCEPTED
            report = client.flush(20.0)
    assert (report.delivered, report.pending, report.failed) == (1, 0, 0)
