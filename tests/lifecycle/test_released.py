"""What a memory that was closed leaves behind: no socket, no task, no account; and when a stuck client is replaced, that is told."""

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from polling import eventually

from memotel import (
    Adapter,
    MemoryClient,
    Provider,
    Scope,
    Speaker,
    Turn,
    resolve,
    runtime,
)
from memotel.config import WatchdogPolicy
from memotel.counts import Count
from memotel.deadline import Deadline
from memotel.devserver import DevServer, Fault
from memotel.http.messages import HttpRequest
from memotel.outcomes import Phase

QUESTION = "What does Ada like to drink in the morning?"
ADA = Scope("ada", "s")


def client_at(server: DevServer, **given: Any) -> MemoryClient:
    settings = {"api_key": f"rk_{len(runtime.current().accounts)}", **given}
    return MemoryClient(resolve(Provider.REKALL, Adapter.DIRECT, url=server.url, **settings))


def use(client: MemoryClient) -> None:
    client.recall(ADA, QUESTION)
    client.write(Turn(ADA, Speaker.HUMAN, "I keep seven hives of bees"))
    assert client.flush(30).pending == 0


def close(client: MemoryClient) -> None:
    client.close(30)


def aclose(client: MemoryClient) -> None:
    asyncio.run(client.aclose(30))


def tasks() -> int:
    """How many tasks the background loop has."""
    return len(asyncio.all_tasks(runtime.current().loop.start()))


@pytest.mark.parametrize("end", [close, aclose])
def test_last_client_of_an_account_releases_everything(
    memory_server: DevServer, end: Callable[[MemoryClient], None]
) -> None:
    short = {"recall_timeout": 1.0, "write_timeout": 1.0}  # as long the watchdog's timers live
    first, second = (client_at(memory_server, api_key="rk_shared", **short) for _ in range(2))
    use(first)
    use(second)
    account = weakref.ref(runtime.current().accounts[first.account])

    end(first)
    assert memory_server.connections_open > 0, "the other still uses them"
    use(second)
    end(second)

    eventually(lambda: memory_server.connections_open == 0)
    assert first.account not in runtime.current().accounts
    eventually(lambda: tasks() == 0)
    del first, second
    eventually(lambda: gc.collect() >= 0 and account() is None)


def test_close_during_an_outage_releases_everything_by_the_deadline_of_the_last_attempt(
    memory_server: DevServer,
) -> None:
    memory_server.faults.set(Fault("hang"))
    client = client_at(memory_server, recall_timeout=0.2, write_timeout=0.5)
    client.recall(ADA, QUESTION)
    client.write(Turn(ADA, Speaker.HUMAN, "I keep seven hives of bees"))
    assert client.flush(0.2).pending == 1

    client.close(0.0)

    eventually(lambda: memory_server.connections_open == 0)
    eventually(lambda: tasks() == 0)
    assert client.account not in runtime.current().accounts


class Stuck:
    """An HTTP client whose work outlives every deadline."""

    address = "memory.test"
    port = 443

    def __init__(self) -> None:
        self.may_end = asyncio.Event()

    async def send(self, *_: object, **__: object) -> None:
        await self.may_end.wait()

    async def aclose(self) -> None:
        self.may_end.set()


class Steps:
    phase = Phase.QUEUE


def test_client_that_is_replaced_is_counted_and_said(
    memory_server: DevServer, caplog: pytest.LogCaptureFixture
) -> None:
    policy = WatchdogPolicy(grace_s=0.02, max_lag_s=10.0, min_interval_s=0.0, retire_after_s=0.1)
    client = client_at(memory_server, watchdog=policy)
    client.stats()
    account = runtime.current().accounts[client.account]
    before = client.counts.total(Count.CLIENTS_RENEWED, client.provider)

    async def hold_up() -> None:
        account.recall_http._shift.client = Stuck()
        request = HttpRequest("GET", "/", "/")
        await account.recall_http.send(request, deadline=Deadline.after(0.01), progress=Steps())

    with caplog.at_level("WARNING", logger="memotel"):
        runtime.current().loop.run(hold_up(), 20)

    assert client.counts.total(Count.CLIENTS_RENEWED, client.provider) == before + 1
    said = [each for each in caplog.records if each.__dict__["event"] == "http.client_renewed"]
    assert len(said) == 1
    assert client.recall(ADA, QUESTION).outcome == "empty", "new work goes to a fresh client"
    client.close(0.0)
