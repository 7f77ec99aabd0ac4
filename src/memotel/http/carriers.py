"""What carries a request and how its deadline holds: the interface, and a transport of the caller's behind it."""

import asyncio
from typing import Protocol

import httpx

from memotel.errors import TransportError
from memotel.http.bodies import Bound, read_whole
from memotel.http.errors import failure_of
from memotel.http.exchange import Exchange
from memotel.http.messages import HttpResponse
from memotel.http.outgoing import Outgoing
from memotel.outcomes import Phase

MAX_ZOMBIES = 64


class Carrier(Protocol):
    """Carries one request to its whole answer."""

    async def carry(self, request: Outgoing, exchange: Exchange, bound: Bound) -> HttpResponse:
        """Return the answer by the exchange's deadline; raises what the transport raises."""
        ...

    async def warm(self) -> None:
        """Open a connection for the first request where that can be done without one."""
        ...

    async def aclose(self) -> None:
        """Let go of every connection."""
        ...

    @property
    def connections(self) -> int:
        """How many connections are held, in use or idle; 0 where nobody can say."""
        ...


class ForeignCarrier:
    """Over a transport of the caller's own: its work is left behind at the deadline, never cancelled.

    The deadline is told to it as httpx's four timeouts, each of which bounds one wait, and is looked at between
    chunks. Work that goes on all the same is a zombie; with `MAX_ZOMBIES` of them nothing more is sent until one
    ends. The transport belongs to the caller, who closes it.
    """

    def __init__(
        self, transport: httpx.AsyncBaseTransport, where: str, max_zombies: int = MAX_ZOMBIES
    ) -> None:
        self._transport = transport
        self._where = where
        self._max_zombies = max_zombies
        self.zombies: set[asyncio.Task[HttpResponse]] = set()

    async def carry(self, request: Outgoing, exchange: Exchange, bound: Bound) -> HttpResponse:
        """Send and read in a task of its own, and wait for it until the deadline."""
        if len(self.zombies) >= self._max_zombies:
            raise TransportError(
                f"{self._where}: the transport given as transport= hangs in {len(self.zombies)} requests",
                is_unsent=True,
            )
        left_s = exchange.deadline.remaining_s()
        asked = request.as_httpx()
        asked.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), left_s)
        exchange.is_sent = True  # perhaps: a foreign transport tells nothing on its way
        exchange.progress.phase = Phase.READ
        task = asyncio.ensure_future(self._work(asked, exchange, bound))
        await asyncio.wait({task}, timeout=max(left_s, 0))
        if task.done():
            return self._result_of(task)
        self.zombies.add(task)
        task.add_done_callback(self._bury)
        raise httpx.ReadTimeout("the transport did not answer in time")

    def _result_of(self, task: "asyncio.Task[HttpResponse]") -> HttpResponse:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            return task.result()
        raise failure_of(error, self._where)

    async def _work(self, request: httpx.Request, exchange: Exchange, bound: Bound) -> HttpResponse:
        try:
            response = await self._transport.handle_async_request(request)
            exchange.has_response = True
            return await read_whole(response, exchange, bound)
        except (KeyboardInterrupt, SystemExit) as error:  # asyncio would end the loop with these
            raise failure_of(error, self._where) from None

    def _bury(self, task: asyncio.Task[HttpResponse]) -> None:
        self.zombies.discard(task)
        if not task.cancelled():
            task.exception()  # looked at, so that asyncio does not report it: its caller has long been answered

    async def warm(self) -> None:
        """Do nothing: such a transport opens connections for requests only."""

    async def aclose(self) -> None:
        """Do nothing: the transport is the caller's."""

    @property
    def connections(self) -> int:
        """0: only the caller's transport knows."""
        return 0
