"""One request through the HTTP client, in one line, and the loop that it runs on."""

import asyncio
import importlib
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

import httpx
import pytest

from memotel.config import Engine, NetworkPolicy
from memotel.deadline import Deadline
from memotel.http import HttpClient, HttpRequest, HttpResponse
from memotel.http.bodies import Bound
from memotel.http.outgoing import Outgoing
from memotel.http.resolver import Resolver
from memotel.outcomes import Phase

T = TypeVar("T")

new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.SelectorEventLoop
"""What makes the loop of a test; the fixture `any_loop` puts another one here."""

engine: Engine = "httpcore"
"""What the clients of a test are built on; the fixture `any_engine` puts another one here."""

SCHEDULING_S = 1.0
"""What a loaded machine may add to a deadline. Without the deadline these requests would last 20 s and more."""


@dataclass
class Where:
    """A progress that remembers the last phase."""

    phase: Phase = Phase.QUEUE


def in_loop(scenario: Coroutine[Any, Any, T]) -> T:
    """Run `scenario` on a fresh loop and fail if it leaves a task behind."""

    async def run() -> T:
        result = await scenario
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:
            await asyncio.wait(left, timeout=2)
        assert not asyncio.all_tasks() - {asyncio.current_task()}
        return result

    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(run())


@asynccontextmanager
async def client_for(
    url: str, *, pool_size: int = 4, resolver: Resolver | None = None, **policy: Any
) -> AsyncIterator[HttpClient]:
    """Return a client, closed at the end."""
    given = NetworkPolicy(**{"engine": engine} | policy)
    client = HttpClient(url, given, pool_size=pool_size, resolver=resolver)
    try:
        yield client
    finally:
        await client.aclose()


async def post(
    client: HttpClient,
    body: bytes | None = b'{"prompt": "tea"}',
    *,
    path: str = "/v1/memory/recall",
    budget_s: float = 20.0,
    where: Where | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> HttpResponse:
    """Send one request, and check that it ended by its deadline."""
    request = HttpRequest("GET" if body is None else "POST", path, path, body, headers)
    started = time.monotonic()
    try:
        return await client.send(
            request, deadline=Deadline.after(budget_s), progress=where or Where()
        )
    finally:
        assert time.monotonic() - started < max(budget_s, 0) + SCHEDULING_S


BOUND = Bound(1024 * 1024, "memory.test")
"""What is taken of an answer where a test has nothing to say of it."""


def outgoing_to(url: str, body: bytes = b"tea") -> Outgoing:
    """Return a request as the client writes it, for what lies below the client."""
    headers = ((b"host", b"memory.test"), (b"content-length", b"%d" % len(body)))
    return Outgoing("POST", httpx.URL(url), b"/v1/memory/recall", headers, body)


async def turns(count: int = 10) -> None:
    """Let the loop turn, so that the client sees what the server did a moment ago."""
    for _ in range(count):
        await asyncio.sleep(0)


def needed(module: str) -> ModuleType:
    """Return an optional module; without it the test is skipped, and fails where CI is set."""
    if os.environ.get("CI"):
        return importlib.import_module(module)
    found: ModuleType = pytest.importorskip(module)
    return found
