"""The tenant that a service's routes need: looked up once for all who ask, kept, and inside the deadline."""

import asyncio

from memotel.backends.protocol import Backend
from memotel.calls import Answer, Call, Handler, Send
from memotel.deadline import current_deadline, monotonic
from memotel.errors import AuthenticationError, BudgetExceededError
from memotel.outcomes import Phase

DEFAULT_TENANT = "default"
VERIFY_AFTER_S = 60.0
"""How long the stand-in tenant of a 401 or 403 is used before the look-up is made again."""


class Tenant:
    """One account's tenant. For the background loop's own tasks only."""

    def __init__(self, codec: Backend, verify_after_s: float = VERIFY_AFTER_S) -> None:
        self._codec = codec
        self._verify_after_s = verify_after_s
        self._name: str | None = None
        self._valid_until = 0.0
        self._flight: asyncio.Task[str] | None = None

    async def name(self, call: Call, send: Send) -> str:
        """Return the tenant, joining a look-up under way; raises what the look-up raised."""
        if self._name is not None and monotonic() < self._valid_until:
            return self._name
        call.phase = Phase.TENANT
        while True:
            flight = self._join(call, send)
            await asyncio.wait({flight}, timeout=max(0.0, call.deadline.remaining_s()))
            if not flight.done():
                raise BudgetExceededError(
                    "the deadline came during the tenant look-up", phase=Phase.TENANT
                )
            error = flight.exception()
            if not isinstance(error, BudgetExceededError) or call.deadline.has_passed():
                return flight.result()
            # The look-up ran on an older call's budget; this call has time left for its own.

    def forget(self) -> None:
        """Look the tenant up again with the next call; a look-up under way is not joined any more."""
        self._name = None
        self._flight = None

    def _join(self, call: Call, send: Send) -> asyncio.Task[str]:
        if self._flight is None or self._flight.done():
            lookup = call.branch(call.deadline.remaining_s())
            self._flight = asyncio.get_running_loop().create_task(self._look_up(lookup, send))
            self._flight.add_done_callback(_read)
        return self._flight

    async def _look_up(self, call: Call, send: Send) -> str:
        current_deadline.set(call.deadline)
        try:
            name = self._codec.read_tenant(await send(call, self._codec.tenant_request()))
            self._valid_until = float("inf")
        except AuthenticationError:
            # The key may lack this scope and yet be good for memory; a bad moment must not stick either.
            name = self._name or DEFAULT_TENANT
            self._valid_until = monotonic() + self._verify_after_s
        self._name = name
        return name


def _read(flight: asyncio.Task[str]) -> None:
    """Look at the flight's error, so that one nobody waited for is not reported as never retrieved."""
    if not flight.cancelled():
        flight.exception()


def tenant(next_handler: Handler, names: Tenant, send: Send) -> Handler:
    """Set `call.tenant` before the backend needs it."""

    async def handle(call: Call) -> Answer:
        call.tenant = await names.name(call, send)
        return await next_handler(call)

    return handle
