"""A bound on calls in flight, so that nobody ever queues inside the connection pool."""

import asyncio
from collections import deque

from memotel.calls import Answer, Call, Handler
from memotel.errors import ShedError
from memotel.outcomes import Phase
from memotel.runtime import InFlight


class Permits:
    """Counted permits, first come first served. For the background loop's own tasks only."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.in_use = 0
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def acquire(self, wait_s: float) -> bool:
        """Take a permit, waiting at most `wait_s`; return whether there was one."""
        if self.in_use < self.capacity:
            self.in_use += 1
            return True
        if wait_s <= 0:
            return False
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await asyncio.wait({waiter}, timeout=wait_s)
        except BaseException:
            if self._has_come(waiter):
                self.release()
            raise
        return self._has_come(waiter)

    def _has_come(self, waiter: "asyncio.Future[None]") -> bool:
        """Whether a waiter was given a permit; one that was not waits no longer."""
        if not waiter.done():
            self._waiters.remove(waiter)
        return waiter.done()

    def release(self) -> None:
        """Give a permit back: to the one who waits longest, if there is one."""
        if self._waiters:
            self._waiters.popleft().set_result(None)
        else:
            self.in_use -= 1


def permits(
    next_handler: Handler, free: Permits, wait_share: float, in_flight: InFlight | None = None
) -> Handler:
    """Let a call through with a permit, or shed it after `wait_share` of what is left of its budget.

    Counts it in `in_flight` meanwhile, which the drain gives way to.
    """
    passing = in_flight or InFlight()

    async def handle(call: Call) -> Answer:
        call.phase = Phase.QUEUE
        if not await free.acquire(wait_share * call.deadline.remaining_s()):
            raise ShedError(f"{free.capacity} calls are in flight already; this one was shed")
        passing.count += 1
        try:
            return await next_handler(call)
        finally:
            passing.count -= 1
            free.release()

    return handle
