"""The connections of one client: each carries one request at a time, and waits on a stack for the next.

httpcore's own pool looks at every connection and every queued request at each step, which makes fifty requests at once
cost 2,500 looks, and may hand one idle connection to several. Here nobody queues (the client bounds what is in flight),
so a stack is enough.
"""

import ssl
from collections import deque
from collections.abc import AsyncIterator
from types import ModuleType

import httpcore

from memotel.http.line import Line


class ConnectionStack:
    """Idle connections to one origin, the latest used first. For one event loop's own tasks only."""

    def __init__(
        self,
        core: ModuleType,
        *,
        context: ssl.SSLContext | None,
        keepalive_s: float,
        network: httpcore.AsyncNetworkBackend,
    ) -> None:
        self._core = core
        self._context = context
        self._keepalive_s = keepalive_s
        self._network = network
        self._idle: deque[Line] = deque()
        self._busy: set[Line] = set()

    @property
    def connections(self) -> list[Line]:
        """Every connection, in use or idle."""
        return [*self._busy, *self._idle]

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        """Send a request over an idle connection, or over a new one.

        The connection is free again when the response's stream is closed. Raises httpcore's exceptions.
        """
        connection = await self._take(request)
        try:
            response: httpcore.Response = await connection.handle_async_request(request)
        except BaseException:
            await self.give_back(connection)
            raise
        stream = _Stream(self, connection, response)
        return httpcore.Response(
            response.status,
            headers=response.headers,
            content=stream,
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close every connection; requests in flight end with an error."""
        connections = self.connections
        self._idle.clear()
        self._busy.clear()
        for connection in connections:
            await connection.aclose()

    async def _take(self, request: httpcore.Request) -> Line:
        while self._idle:
            kept = self._idle.pop()
            if kept.is_idle() and not kept.has_expired():
                self._busy.add(kept)
                return kept
            await kept.aclose()
        connection = Line(
            request.url.origin,
            self._network,
            context=self._context,
            keepalive_s=self._keepalive_s,
            core=self._core,
        )
        self._busy.add(connection)
        return connection

    async def give_back(self, connection: Line) -> None:
        """Keep a connection that can be used again, close any other, and let the longest idle one go in its time."""
        is_ours = connection in self._busy
        self._busy.discard(connection)
        if is_ours and connection.is_idle() and not connection.is_closed():
            self._idle.append(connection)
        else:
            await connection.aclose()
        if len(self._idle) > 1 and self._idle[0].has_expired():
            await self._idle.popleft().aclose()


class _Stream:
    """A response's body; closing it gives the connection back."""

    def __init__(
        self,
        stack: ConnectionStack,
        connection: Line,
        response: httpcore.Response,
    ) -> None:
        self._stack = stack
        self._connection = connection
        self._response = response
        self._is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.aiter_stream():
            yield chunk

    async def aclose(self) -> None:
        """End the response; idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            await self._response.aclose()
        finally:
            await self._stack.give_back(self._connection)
