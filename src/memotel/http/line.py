"""One HTTP/1.1 connection, with httpcore's interface and over h11 like httpcore's own.

httpcore guards a connection with anyio locks, and each of the three takings in a request gives the loop away once:
three idle rounds of it, each with a system call. Here a connection has one request at a time and one loop for all, so
nothing is guarded.
"""

import ssl
from collections.abc import AsyncIterator
from enum import Enum
from types import ModuleType
from typing import cast

import h11
import httpcore

from memotel.deadline import monotonic

READ_BYTES = 64 * 1024
MAX_HEAD_BYTES = 100 * 1024


class _State(Enum):
    NEW = "new"
    ACTIVE = "active"
    IDLE = "idle"
    CLOSED = "closed"


class Line(httpcore.AsyncConnectionInterface):
    """A connection to one origin, opened by its first request. For one loop, and one request at a time."""

    def __init__(
        self,
        origin: httpcore.Origin,
        network: httpcore.AsyncNetworkBackend,
        *,
        context: ssl.SSLContext | None,
        keepalive_s: float,
        core: ModuleType = httpcore,
    ) -> None:
        self._origin = origin
        self._network = network
        self._context = context
        self._keepalive_s = keepalive_s
        self._core = core
        self._state = _State.NEW
        self._expires_at = 0.0
        self._stream: httpcore.AsyncNetworkStream | None = None
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        """Send one request and return the head of its answer; the body is read from its stream."""
        if self._state not in (_State.NEW, _State.IDLE):
            raise self._core.ConnectionNotAvailable
        self._state = _State.ACTIVE
        try:
            stream = self._stream or await self._opened()
            await self._write(request, stream)
            head = await self._head()
        except BaseException:
            await self.aclose()
            raise
        response: httpcore.Response = self._core.Response(
            status=head.status_code,
            headers=head.headers.raw_items(),
            content=_Body(self),
            extensions={"http_version": b"HTTP/" + head.http_version, "reason_phrase": head.reason},
        )
        return response

    async def _opened(self) -> httpcore.AsyncNetworkStream:
        host = self._origin.host.decode("ascii")
        stream = await self._network.connect_tcp(host, self._origin.port)
        self._stream = stream
        if self._origin.scheme == b"https" and self._context is not None:
            self._context.set_alpn_protocols(["http/1.1"])
            self._stream = stream = await stream.start_tls(self._context, host)
        return stream

    async def _write(self, request: httpcore.Request, stream: httpcore.AsyncNetworkStream) -> None:
        try:
            data = await self._encoded(request)
        except h11.LocalProtocolError as error:
            raise self._core.LocalProtocolError(str(error)) from error
        try:
            await stream.write(data)
            await stream.write(b"")
        except self._core.WriteError:
            pass  # a server may answer and close before it has read the whole request

    async def _encoded(self, request: httpcore.Request) -> bytes:
        head = h11.Request(
            method=request.method, target=request.url.target, headers=request.headers
        )
        body = b"".join([chunk async for chunk in cast("AsyncIterator[bytes]", request.stream)])
        events = [head, h11.Data(data=body), h11.EndOfMessage()]
        return b"".join(self._http.send(event) or b"" for event in events)

    async def _head(self) -> h11.Response:
        while not isinstance(event := await self._event(), h11.Response):
            pass  # 100 Continue and its like
        return event

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the body of the answer as it comes."""
        while isinstance(event := await self._event(), h11.Data):
            yield bytes(event.data)

    async def _event(self) -> object:
        stream, http = self._stream, self._http
        if stream is None:
            raise self._core.ReadError("the connection is closed")
        try:
            while (event := http.next_event()) is h11.NEED_DATA:
                data = await stream.read(READ_BYTES)
                if not data and http.their_state == h11.SEND_RESPONSE:
                    raise self._core.RemoteProtocolError("no answer before the end")
                http.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise self._core.RemoteProtocolError(str(error)) from error
        return event

    async def answered(self) -> None:
        """Make the connection ready for another request where both sides are done; close it where not.

        Bytes behind the answer's end are no part of any answer: what follows them cannot be trusted.
        """
        http = self._http
        is_done = http.our_state is h11.DONE and http.their_state is h11.DONE
        if is_done and not http.trailing_data[0]:
            http.start_next_cycle()
            self._expires_at = monotonic() + self._keepalive_s
            self._state = _State.IDLE
        else:
            await self.aclose()

    async def aclose(self) -> None:
        """Close it."""
        self._state = _State.CLOSED
        if self._stream is not None:
            await self._stream.aclose()

    def can_handle_request(self, origin: httpcore.Origin) -> bool:
        """Whether it leads to `origin`."""
        return bool(origin == self._origin)

    def is_available(self) -> bool:
        """Whether it is open and at rest."""
        return self._state is _State.IDLE

    def has_expired(self) -> bool:
        """Whether it has rested too long, or the peer has spoken or left meanwhile."""
        stream = self._stream
        if self._state is not _State.IDLE or stream is None:
            return False
        return monotonic() > self._expires_at or bool(stream.get_extra_info("is_readable"))

    def is_idle(self) -> bool:
        """Whether it is open and at rest."""
        return self._state is _State.IDLE

    def is_closed(self) -> bool:
        """Whether it was closed, or never opened."""
        return self._state is _State.CLOSED

    def info(self) -> str:
        """Return its state, as httpcore's repr shows it."""
        return self._state.value


class _Body:
    """The body of one answer; closing it before its end closes the connection."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._line.body():
                yield chunk
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Give the connection back. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            await self._line.answered()
