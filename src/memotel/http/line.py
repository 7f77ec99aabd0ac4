"""One HTTP/1.1 connection: a request out in one piece, its answer back whole.

httpcore guards a connection with anyio locks, and each of the three takings in a request gives the loop away once:
three idle rounds of it, each with a system call. Here a connection has one request at a time and one loop for all, so
nothing is guarded, and no response object outlives the exchange.
"""

from enum import Enum
from types import ModuleType

import httpcore

from memotel.deadline import monotonic
from memotel.http.answers import read_answer
from memotel.http.bodies import Bound
from memotel.http.messages import HttpResponse
from memotel.http.network import DeadlineStream
from memotel.http.outgoing import Outgoing
from memotel.http.routes import Route


class _State(Enum):
    NEW = "new"
    ACTIVE = "active"
    IDLE = "idle"
    CLOSED = "closed"


class Line:
    """A connection to one service, opened by its first request. For one loop, and one request at a time.

    Args:
        route: the service.
        network: opens the connection; its streams end every wait at the deadline of the task that waits.
        keepalive_s: after resting so long it is not used again.
        core: httpcore or its fork: whose exceptions are raised.
    """

    def __init__(
        self,
        route: Route,
        network: httpcore.AsyncNetworkBackend,
        *,
        keepalive_s: float,
        core: ModuleType = httpcore,
    ) -> None:
        self._route = route
        self._network = network
        self._keepalive_s = keepalive_s
        self._core = core
        self._state = _State.NEW
        self._expires_at = 0.0
        self._stream: httpcore.AsyncNetworkStream | None = None

    async def exchange(self, request: Outgoing, bound: Bound) -> HttpResponse:
        """Send one request and return its answer.

        Raises `core`'s exceptions, and `ResponseFormatError`; after any of them the connection is closed.
        """
        if self._state not in (_State.NEW, _State.IDLE):
            raise self._core.ConnectionNotAvailable
        self._state = _State.ACTIVE
        try:
            stream = self._stream or await self._opened()
            await self._write(request.encoded(), stream)
            response, can_go_on = await read_answer(stream, bound, self._core)
        except BaseException:
            await self.aclose()
            raise
        if can_go_on and self._state is _State.ACTIVE and not self._has_unsent():
            self._expires_at = monotonic() + self._keepalive_s
            self._state = _State.IDLE
        else:
            await self.aclose()
        return response

    async def _opened(self) -> httpcore.AsyncNetworkStream:
        route = self._route
        stream = await self._network.connect_tcp(route.address, route.port)
        self._stream = stream
        if route.is_tls and route.context is not None:
            route.context.set_alpn_protocols(["http/1.1"])
            self._stream = stream = await stream.start_tls(route.context, route.address)
        return stream

    async def _write(self, data: bytes, stream: httpcore.AsyncNetworkStream) -> None:
        try:
            await stream.write(data)
            await stream.write(b"")
        except self._core.WriteError:
            pass  # a server may answer and close before it has read the whole request

    def _has_unsent(self) -> bool:
        """Whether the peer answered before it took the whole request: the next one would wait behind the rest of it."""
        return isinstance(self._stream, DeadlineStream) and self._stream.has_unsent

    async def aclose(self) -> None:
        """Close it. Idempotent."""
        self._state = _State.CLOSED
        if self._stream is not None:
            await self._stream.aclose()

    async def settle(self) -> None:
        """Have what came while it rested taken in, so that `can_be_used` takes no TLS ticket for a word of the peer's."""
        if isinstance(self._stream, DeadlineStream):
            await self._stream.settle()

    def can_be_used(self) -> bool:
        """Whether it is open and at rest, not for too long, and the peer has neither spoken nor left meanwhile."""
        stream = self._stream
        if self._state is not _State.IDLE or stream is None:
            return False
        return monotonic() <= self._expires_at and not stream.get_extra_info("is_readable")

    def is_idle(self) -> bool:
        """Whether it is open and at rest."""
        return self._state is _State.IDLE

    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._state is _State.CLOSED
