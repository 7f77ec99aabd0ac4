"""One connection on an asyncio loop: bytes in, bytes out, each wait bounded by a timer of its own."""

import asyncio
import select
import socket
import ssl
from typing import cast

from memotel.http.waiting import arrival

MAX_BUFFER_BYTES = 256 * 1024
TLS_SHUTDOWN_S = 1.0
SETTLING_ROUNDS = 4
"""A loop looks at its sockets once a round, and reads what it found in the next."""


class Wire(asyncio.Protocol):
    """A TCP connection, later perhaps TLS. Belongs to one loop, and to one request at a time.

    `read`, `write` and `start_tls` raise `TimeoutError` when their time is up and `OSError` when the connection
    fails; after either the wire is only good for closing.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._below: tuple[asyncio.Transport, ...] = ()
        self._received = bytearray()
        self._error: Exception | None = None
        self._is_ended = False
        self._is_broken = False
        self._is_reading_paused = False
        self._readable: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self.closed: asyncio.Future[None] = self._loop.create_future()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        # uvloop's transports have the interface and not the class.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Keep what came, and ask for a pause when too much of it waits."""
        self._received += data
        if len(self._received) > MAX_BUFFER_BYTES and self._transport is not None:
            self._transport.pause_reading()
            self._is_reading_paused = True
        _wake(self._readable)
        _wake(
            self._writable
        )  # it answers before it has taken everything, and perhaps takes no more

    def eof_received(self) -> None:
        """Note that the peer will send no more; asyncio closes the transport."""
        self._is_ended = True
        _wake(self._readable)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end, and wake whoever waits."""
        self._end(exc)

    def pause_writing(self) -> None:
        """Have writers wait."""
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        """Let writers go on."""
        _wake(self._writable)
        self._writable = None

    # What the stream above calls.

    @property
    def is_readable(self) -> bool:
        """Whether a read would return at once: data, or the end. An idle connection that is so is dead.

        Looks at the socket too: what came while the loop was busy has not been told yet.
        """
        return self._is_ended or bool(self._received) or self._has_more_come()

    async def settle(self) -> None:
        """Let the loop take in what waits in the socket: in TLS that may be a session ticket, and no word of the peer's.

        Returns after a few rounds at most, at once where nothing waits.
        """
        if self.ssl_object is None:
            return
        for _ in range(SETTLING_ROUNDS):
            if self._is_ended or self._received or not self._has_more_come():
                return
            await asyncio.sleep(0)

    def _has_more_come(self) -> bool:
        sock = cast("socket.socket | None", self.detail("socket"))
        return sock is not None and _is_ready(sock.fileno())

    @property
    def has_unsent(self) -> bool:
        """Whether bytes that were written still wait to leave, also below TLS."""
        above = () if self._transport is None else (self._transport,)
        # uvloop's do not say once they are closed.
        alive = [each for each in (*self._below, *above) if not each.is_closing()]
        return any(each.get_write_buffer_size() > 0 for each in alive)

    @property
    def is_open(self) -> bool:
        """Whether bytes written now would leave, as far as is known here."""
        return not (self._is_ended or self._transport is None or self._transport.is_closing())

    @property
    def ssl_object(self) -> ssl.SSLObject | None:
        """The TLS session, or None on a plain connection."""
        return cast("ssl.SSLObject | None", self.detail("ssl_object"))

    def detail(self, name: str) -> object:
        """Return what asyncio knows under `name` (`socket`, `peername` ...), or None."""
        return None if self._transport is None else self._transport.get_extra_info(name)

    async def read(self, max_bytes: int, left_s: float | None) -> bytes:
        """Return 1 to `max_bytes` bytes, or none at the end of the stream."""
        if not self._received and not self._is_ended:
            self._readable = self._loop.create_future()
            try:
                await arrival(self._readable, left_s)
            except TimeoutError:
                self._is_broken = True
                raise
            finally:
                self._readable = None
        return self._taken(max_bytes)

    def _taken(self, max_bytes: int) -> bytes:
        if not self._received:
            self._raise_error()
            return b""
        if len(self._received) <= max_bytes:
            data = bytes(self._received)
            self._received.clear()
        else:
            data = bytes(self._received[:max_bytes])
            del self._received[:max_bytes]
        self._resume_reading()
        return data

    def _resume_reading(self) -> None:
        if self._is_reading_paused and len(self._received) <= MAX_BUFFER_BYTES // 2:
            self._is_reading_paused = False
            if not self._is_ended and self._transport is not None:
                self._transport.resume_reading()

    async def write(self, data: bytes, left_s: float | None) -> None:
        """Hand `data` over; waits only while more lies unsent than asyncio likes to hold, and the peer says nothing."""
        transport = self._transport
        if transport is None or not self.is_open:
            self._raise_error()
            raise ConnectionResetError("the connection is closed")
        transport.write(data)
        if self._writable is not None:
            try:
                await arrival(self._writable, left_s)
            except TimeoutError:
                self._is_broken = True
                raise
            self._raise_error()

    async def start_tls(
        self, context: ssl.SSLContext, hostname: str | None, left_s: float | None
    ) -> None:
        """Make a TLS connection of this one; asyncio's own handshake timer bounds it.

        What came before it came in the clear and is nobody's answer: a peer that spoke first is refused.
        """
        raw = self._transport
        if self._is_ended or raw is None:
            self._raise_error()
            raise ConnectionResetError("the peer closed the connection")
        if self._received:
            raw.abort()
            raise ssl.SSLError(ssl.SSL_ERROR_SSL, "the peer spoke before the handshake")
        try:
            upgraded = await self._loop.start_tls(
                raw,
                self,
                context,
                server_hostname=hostname,
                ssl_handshake_timeout=left_s,
                ssl_shutdown_timeout=TLS_SHUTDOWN_S,
            )
        except BaseException as error:
            raw.abort()
            self._end(error if isinstance(error, Exception) else None)
            raise
        self._below, self._transport = (*self._below, raw), upgraded
        if upgraded is None or upgraded.is_closing():
            raise ConnectionResetError("the connection was closed during the TLS handshake")

    def close(self) -> None:
        """Close politely where the connection is at rest, at once where it is not. Idempotent; never waits."""
        transport = self._transport
        if transport is None or self.closed.done() or transport.is_closing():
            return
        if self._is_broken or self.has_unsent:
            transport.abort()
        else:
            transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def _end(self, error: Exception | None) -> None:
        self._is_ended = True
        self._error = self._error or error
        _wake(self._readable)
        _wake(self._writable)
        _wake(self.closed)

    def _raise_error(self) -> None:
        if self._error is not None:
            self._is_broken = True
            raise _as_os_error(self._error)


def _wake(future: "asyncio.Future[None] | None") -> None:
    if future is not None and not future.done():
        future.set_result(None)


def _is_ready(number: int) -> bool:
    """Whether bytes, or the end, wait in the socket of this file number; so they do where it is closed."""
    if number < 0:
        return True
    if not hasattr(select, "poll"):
        return bool(select.select([number], [], [], 0)[0])
    looker = select.poll()
    looker.register(number, select.POLLIN)
    return bool(looker.poll(0))


def _as_os_error(error: Exception) -> OSError:
    """Return a fresh error for each raise, so that tracebacks do not pile up on one object."""
    if isinstance(error, OSError):
        return type(error)(*error.args)
    return ConnectionResetError(type(error).__name__)
