"""The watchdog: stuck work costs a client its place, a slow loop does not, and nothing is cancelled."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

import pytest

from memotel.config import WatchdogPolicy
from memotel.deadline import Deadline
from memotel.http.exchange import Progress
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.http.renewable import Headers, RenewableClient
from memotel.outcomes import Phase
from memotel.policy.watchdog import is_overdue, may_renew

POLICY = WatchdogPolicy(grace_s=0.02, max_lag_s=5.0, min_interval_s=0.0, retire_after_s=30.0)
REQUEST = HttpRequest("GET", "/", "/")


@dataclass
class Steps:
    phase: Phase = Phase.QUEUE


@dataclass
class StuckClient:
    """Never answers until it is released; says whether it was closed."""

    address: str = "memory.test"
    port: int = 443
    released: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    sent: int = 0

    async def send(
        self, request: HttpRequest, *, headers: Headers = (), deadline: Deadline, progress: Progress
    ) -> HttpResponse:
        self.sent += 1
        await self.released.wait()
        return HttpResponse(200)

    async def warm(self, deadline: Deadline, progress: Progress) -> None:
        await self.released.wait()

    async def aclose(self) -> None:
        self.closed.set()


class Stable:
    """Makes clients and keeps them, and tells of renewals."""

    def __init__(self, policy: WatchdogPolicy = POLICY) -> None:
        self.made: list[StuckClient] = []
        self.renewed = asyncio.Event()
        self.client = RenewableClient(self._make, policy, self.renewed.set)

    def _make(self) -> StuckClient:
        self.made.append(StuckClient())
        return self.made[-1]

    def send(self, budget_s: float = 0.01) -> "asyncio.Task[HttpResponse]":
        deadline = Deadline.after(budget_s)
        return asyncio.ensure_future(self.client.send(REQUEST, deadline=deadline, progress=Steps()))


def run(main: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(asyncio.wait_for(main(), 20))


def test_stuck_work_sends_new_work_to_a_fresh_client_and_is_not_cancelled() -> None:
    async def main() -> None:
        stable = Stable()
        old = stable.send()
        await stable.renewed.wait()
        new = stable.send(budget_s=30.0)
        await asyncio.sleep(0)

        assert [client.sent for client in stable.made] == [1, 1]
        assert not old.done()
        stable.made[1].released.set()
        assert (await new).status == 200
        assert not stable.made[0].closed.is_set()
        stable.made[0].released.set()
        assert (await old).status == 200
        await stable.made[0].closed.wait()
        assert not stable.made[1].closed.is_set()

    run(main)


def test_retired_client_is_closed_after_a_while_even_if_its_work_never_ends() -> None:
    async def main() -> None:
        stable = Stable(WatchdogPolicy(0.02, 5.0, 0.0, retire_after_s=0.02))
        old = stable.send()

        await stable.made[0].closed.wait()

        assert not old.done()
        stable.made[0].released.set()
        await old

    run(main)


def test_work_that_ends_in_time_renews_nothing() -> None:
    async def main() -> None:
        stable = Stable()
        task = stable.send(budget_s=0.001)
        stable.made[0].released.set()
        await task
        await asyncio.sleep(0.1)  # several times the grace period: a check would have come

        assert len(stable.made) == 1

    run(main)


def test_close_closes_every_client_once() -> None:
    async def main() -> None:
        stable = Stable()
        old = stable.send()
        await stable.renewed.wait()

        await stable.client.aclose()

        assert all(client.closed.is_set() for client in stable.made)
        stable.made[0].released.set()
        await old

    run(main)


@pytest.mark.parametrize(
    ("lag_s", "since_last_s", "is_allowed"),
    [(0.0, 60.0, True), (0.2, 60.0, True), (0.21, 60.0, False), (0.0, 59.9, False)],
)
def test_watchdog_waits_for_a_prompt_loop_and_a_minute(
    lag_s: float, since_last_s: float, *, is_allowed: bool
) -> None:
    policy = WatchdogPolicy()

    assert may_renew(lag_s=lag_s, since_last_s=since_last_s, policy=policy) is is_allowed


def test_watchdog_gives_work_a_second_beyond_its_deadline() -> None:
    policy = WatchdogPolicy()

    assert not is_overdue(10.0, 10.99, policy)
    assert is_overdue(10.0, 11.0, policy)
