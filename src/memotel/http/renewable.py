"""The safety net under the deadline: a client on which work outlives its deadline is replaced by a fresh one.

Nothing is cancelled. The old client takes no new work and is closed when its last work ends, or after a while.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from memotel.config import WatchdogPolicy
from memotel.deadline import Deadline, monotonic
from memotel.http.exchange import Progress
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.policy.watchdog import is_overdue, may_renew

Headers = tuple[tuple[str, str], ...]


class Client(Protocol):
    """What sends one request; `memotel.http.HttpClient` is one."""

    address: str
    port: int

    async def send(
        self,
        request: HttpRequest,
        *,
        headers: Headers = (),
        deadline: Deadline,
        progress: Progress,
    ) -> HttpResponse:
        """Send a request within the deadline."""
        ...

    async def warm(self, deadline: Deadline, progress: Progress) -> None:
        """Make ready what a first request would wait for."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...


class _Shift:
    """A client and the deadlines of the work on it."""

    __slots__ = ("client", "deadlines", "is_closing", "is_retired")

    def __init__(self, client: Client) -> None:
        self.client = client
        self.deadlines: dict[int, float] = {}
        self.is_retired = False
        self.is_closing = False


class RenewableClient:
    """Sends through the current client, and replaces it where work on it is overdue.

    For the background loop's own tasks only. `on_renewed` is called after each replacement.
    """

    def __init__(
        self,
        make: Callable[[], Client],
        policy: WatchdogPolicy,
        on_renewed: Callable[[], None] = lambda: None,
    ) -> None:
        self._make = make
        self._policy = policy
        self._on_renewed = on_renewed
        self._shift = _Shift(make())
        self._retired: set[_Shift] = set()
        self._closings: set[asyncio.Task[None]] = set()
        self._renewed_at = float("-inf")
        self._sent = 0
        self._check_at: float | None = None
        self.address = self._shift.client.address
        self.port = self._shift.client.port

    async def send(
        self,
        request: HttpRequest,
        *,
        headers: Headers = (),
        deadline: Deadline,
        progress: Progress,
    ) -> HttpResponse:
        """Send `request` through the current client; see `HttpClient.send`."""
        shift = self._shift
        self._sent += 1
        number = self._sent
        shift.deadlines[number] = deadline.at
        if self._check_at is None:
            self._check_later(deadline.at + self._policy.grace_s)
        try:
            return await shift.client.send(
                request, headers=headers, deadline=deadline, progress=progress
            )
        finally:
            del shift.deadlines[number]
            if shift.is_retired and not shift.deadlines:
                self._close(shift)

    async def warm(self, deadline: Deadline, progress: Progress) -> None:
        """Make the current client ready."""
        await self._shift.client.warm(deadline, progress)

    async def aclose(self) -> None:
        """Close every client, the retired ones too. Idempotent."""
        for shift in (*self._retired, self._shift):
            shift.is_closing = True
            await shift.client.aclose()
        self._retired.clear()

    def _check_later(self, at: float) -> None:
        self._check_at = at
        asyncio.get_running_loop().call_later(max(0.0, at - monotonic()), self._check)

    def _check(self) -> None:
        now, due = monotonic(), self._check_at or 0.0
        self._check_at = None
        deadlines = self._shift.deadlines.values()
        if not deadlines:
            return
        if any(is_overdue(at, now, self._policy) for at in deadlines) and may_renew(
            lag_s=now - due, since_last_s=now - self._renewed_at, policy=self._policy
        ):
            self._renew(now)
            return
        self._check_later(max(min(deadlines), now) + self._policy.grace_s)

    def _renew(self, now: float) -> None:
        old, self._shift = self._shift, _Shift(self._make())
        old.is_retired = True
        self._renewed_at = now
        self._retired.add(old)
        asyncio.get_running_loop().call_later(self._policy.retire_after_s, self._close, old)
        self._on_renewed()

    def _close(self, shift: _Shift) -> None:
        if shift.is_closing:
            return
        shift.is_closing = True
        self._retired.discard(shift)
        task = asyncio.get_running_loop().create_task(shift.client.aclose())
        self._closings.add(task)
        task.add_done_callback(self._closings.discard)
