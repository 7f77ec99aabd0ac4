"""The drain: sends what the schedule says, on the background loop, and wakes by one event and one timer."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context
from dataclasses import dataclass, field
from typing import Protocol

from memotel.calls import RETRY, Call
from memotel.config import WritePolicy
from memotel.deadline import monotonic
from memotel.locks import Callers
from memotel.outcomes import Operation, Provider
from memotel.values import WriteAnswer
from memotel.writes.ledger import Ledger
from memotel.writes.outbox import Entry
from memotel.writes.schedule import Schedule
from memotel.writes.verdicts import Verdict, judge_answer, judge_error
from memotel.writes.waiting import Flushes, FlushWaiter

YIELD_CHECKS = 10
"""How often within the time that a send yields to recalls it looks whether they are done."""

SHORTEST_WAIT_S = 0.001
"""No timer is shorter, so that a clock's rounding cannot make the drain spin."""

SOON_S = 0.01
"""A drain that wakes within this time is not woken for a new write."""

Send = Callable[[Call], Awaitable[WriteAnswer]]


class Loop(Protocol):
    """The background loop, as the write path uses it."""

    def call_soon(self, function: Callable[..., object], *args: object) -> None:
        """Run `function` on the loop, soon, starting the loop if need be. Thread-safe."""
        ...

    def call_in_a_moment(self, function: Callable[[], object]) -> None:
        """Do as `call_soon` does, a moment later, at next to no cost. Thread-safe."""
        ...

    def is_current(self) -> bool:
        """Whether the caller is on the loop's own thread."""
        ...


@dataclass(frozen=True, slots=True)
class Gates:
    """What the drain gives way to.

    Attributes:
        recalls_in_flight: recalls of this process that callers wait for now.
        may_send: asked with the number of writes being sent: seconds until circuit and rate limit let one more
            through, 0 for now.
        callers: threads amid an accept, for which a person waits.
    """

    recalls_in_flight: Callable[[], int] = lambda: 0
    may_send: Callable[[int], float] = lambda _: 0.0
    callers: Callers = field(default_factory=Callers)


class Drain:
    """Delivers one account's writes. `put` and `wake` are thread-safe; everything else runs on the loop.

    It starts with the first `put`. A send is a task of its own in an empty context: no span and no deadline of
    the turn that happened to wake the drain leaks into it.
    """

    def __init__(
        self,
        provider: Provider,
        policy: WritePolicy,
        *,
        loop: Loop,
        send: Send,
        gates: Gates,
        ledger: Ledger,
        schedule: Schedule,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._provider = provider
        self._policy = policy
        self._loop = loop
        self._send = send
        self._gates = gates
        self._ledger = ledger
        self._schedule = schedule
        self._clock = clock
        self._incoming: deque[Entry] = deque()
        self._flushes = Flushes()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_woken = False
        self._is_stopped = False
        self._yields_until: float | None = None
        self._held_until = 0.0

    def put(self, entry: Entry) -> None:
        """Take an accepted entry; call `wake` after it."""
        self._incoming.append(entry)

    def wake(self) -> None:
        """Have the drain look in a moment at what there is to do, unless it wakes by itself until then.

        A turn's recall follows its first write at once, and goes first.
        """
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_in_a_moment(self._pump)

    def look(self) -> None:
        """Have the drain look at its gates now: one may have opened. Thread-safe."""
        self._loop.call_soon(self._pump)

    def stop(self) -> None:
        """Start no more sends; those in flight end by their deadlines."""
        self._is_stopped = True
        self.look()

    def watch(self, waiter: FlushWaiter) -> None:
        """Have a flush told when there is nothing left for it to wait for. Thread-safe."""
        self._loop.call_soon(self._watch, waiter)

    def unwatch(self, waiter: FlushWaiter) -> None:
        """Forget a flush that has given up. Thread-safe."""
        self._loop.call_soon(self._flushes.discard, waiter)

    def quota_returned(self) -> None:
        """Send what is parked again: there is evidence that the plan works. Thread-safe."""
        if self._ledger.parked:
            self._loop.call_soon(self._release)

    def credentials_accepted(self) -> None:
        """End the pause of rejected credentials: they were accepted elsewhere. Thread-safe."""
        if self._schedule.credentials.is_rejected:
            self._loop.call_soon(self._unlatch)

    def _watch(self, waiter: FlushWaiter) -> None:
        self._flushes.add(waiter)
        self._pump()

    def _release(self) -> None:
        self._schedule.quota_returned(self._clock())
        self._flushes.extend(self._ledger.last_seq)
        self._pump()

    def _unlatch(self) -> None:
        self._schedule.credentials_accepted()
        self._pump()

    def _pump(self) -> None:
        self._is_woken = True
        now = self._clock()
        while self._incoming:
            self._schedule.add(self._incoming.popleft(), now)
        if not self._is_stopped:
            self._schedule.sweep(now)
            self._send_due(now)
        next_send_at = self._next_send_at(now)
        self._arm(now, next_send_at)
        self._is_woken = self._will_wake(now, next_send_at)
        if self._incoming and not self._is_woken:
            self.look()
        if self._flushes:
            expected = now if self._schedule.in_flight else next_send_at
            self._flushes.check(self._ledger.oldest(), expected)

    def _send_due(self, now: float) -> None:
        next_at = self._schedule.next_at(now)
        if next_at is None or next_at > now:
            return
        hold_s = self._hold_s(now)
        while hold_s <= 0 and (entry := self._schedule.take(now)) is not None:
            self._start(entry)
            hold_s = self._gates.may_send(self._schedule.in_flight)
        self._held_until = now + max(0.0, hold_s)

    def _hold_s(self, now: float) -> float:
        """Seconds to give way: to an open circuit, or to recalls in flight, for a bounded time."""
        wait_s = self._gates.may_send(self._schedule.in_flight)
        if wait_s > 0:
            return wait_s
        if self._gates.recalls_in_flight() <= 0:
            self._yields_until = None
            return 0.0
        if self._yields_until is None:
            self._yields_until = now + self._policy.recall_yield_s
        left_s = self._yields_until - now
        if left_s <= 0:
            self._yields_until = None
            return 0.0
        return min(left_s, self._policy.recall_yield_s / YIELD_CHECKS)

    def _will_wake(self, now: float, next_send_at: float | None) -> bool:
        """Whether a pump is certain to come, early enough for whatever is accepted until then."""
        if self._schedule.in_flight >= self._schedule.window.limit:
            return True
        if next_send_at is None:
            return False
        held_until = max(self._held_until, self._schedule.paused_until(now))
        return next_send_at <= max(now + SOON_S, held_until)

    def _next_send_at(self, now: float) -> float | None:
        if self._is_stopped:
            return None
        at = self._schedule.next_at(now)
        return None if at is None else max(at, self._held_until)

    def _arm(self, now: float, next_send_at: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        sweep_at = None if self._is_stopped else self._schedule.next_sweep_at()
        times = [at for at in (next_send_at, sweep_at) if at is not None]
        if times:
            delay_s = max(min(times) - now, SHORTEST_WAIT_S)
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(delay_s, self._pump, context=Context())

    def _start(self, entry: Entry) -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._deliver(entry), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, entry: Entry) -> None:
        call = Call(
            Operation.WRITE,
            entry.write,
            provider=self._provider,
            adapter=entry.write.adapter,
            budget_s=self._policy.attempt_budget_s,
        )
        verdict = await self._attempt(call, entry)
        releases = self._schedule.releases
        self._schedule.settle(entry, verdict, self._clock())
        self._gates.callers.go_first()
        if self._schedule.releases != releases:
            self._flushes.extend(self._ledger.last_seq)
        call.settle(entry.outcome or RETRY, entry.answer, entry.error)
        self._pump()

    async def _attempt(self, call: Call, entry: Entry) -> Verdict:
        entry.answer = entry.error = None
        try:
            entry.answer = await self._send(call)
        except Exception as error:  # noqa: BLE001 # whatever it was, the write stays and is sent again
            entry.error = error
            return judge_error(error)
        return judge_answer(entry.answer)
