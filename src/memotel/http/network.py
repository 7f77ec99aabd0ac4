"""The network below httpcore's pool, in which every wait ends at the deadline of the task that waits.

httpcore's own timeouts are per wait: a peer that sends a byte every 20 ms holds a request for ever. Here each wait is
clamped to what the deadline leaves, and its end is one of httpcore's ordinary timeouts, so that the pool closes the
connection and frees the slot by itself. Nothing is cancelled into httpcore, whose pool does not survive that.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Iterable
from types import ModuleType

import httpcore

from memotel.deadline import current_deadline
from memotel.http.connecting import connect
from memotel.http.exchange import current_exchange, enter, time_left_s
from memotel.http.resolver import Resolver
from memotel.http.wire import Wire
from memotel.outcomes import Phase

EARLY_S = 0.005
"""Loops round timers, some of them down: what ends this close to the deadline ended because of it."""

GATHER_BYTES = 64 * 1024

_EXTRA_NAMES = {"client_addr": "sockname", "server_addr": "peername", "socket": "socket"}


class DeadlineStream(httpcore.AsyncNetworkStream):
    """One connection, as httpcore sees it.

    httpcore writes a request as head, body and an empty end. They leave in one piece, at the end or when
    `GATHER_BYTES` are together: one system call and one segment in place of two. Where `is_ready`, the handshake that
    is asked for next was made ahead of time.
    """

    def __init__(self, wire: Wire, core: ModuleType = httpcore) -> None:
        self.wire = wire
        self.is_ready = False
        self._core = core
        self._gathered: list[bytes] = []

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what came, at most `max_bytes`; b"" at the end."""
        await self._flush(timeout)
        enter(Phase.READ)
        data = await self.connect_read(max_bytes, timeout)
        exchange = current_exchange.get()
        if data and exchange is not None:
            exchange.receive(len(data))
            if exchange.is_flooded:
                raise self._core.ReadError("the answer is too large")
        return data

    async def connect_read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read while still connecting: no byte of an answer to the request."""
        left_s = time_left_s(timeout)
        if left_s is not None and left_s <= 0:
            raise self._core.ReadTimeout("the deadline has passed")
        try:
            return await self.wire.read(max_bytes, left_s)
        except TimeoutError:
            raise self._core.ReadTimeout("no more of the answer came in time") from None
        except OSError as error:
            raise self._core.ReadError(reason_of(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send `buffer`, perhaps together with what comes after it."""
        self._gathered.append(buffer)
        if not buffer or len(buffer) >= GATHER_BYTES:
            await self._flush(timeout)

    async def _flush(self, timeout: float | None) -> None:
        data = b"".join(self._gathered)
        self._gathered.clear()
        if not data:
            return
        enter(Phase.WRITE)
        exchange = current_exchange.get()
        if exchange is not None and self.wire.is_open:
            exchange.is_sent = True
        await self.connect_write(data, timeout)

    async def connect_write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send while still connecting: no byte of the request."""
        left_s = time_left_s(timeout)
        if left_s is not None and left_s <= 0:
            raise self._core.WriteTimeout("the deadline has passed")
        try:
            await self.wire.write(buffer, left_s)
        except TimeoutError:
            raise self._core.WriteTimeout("the peer did not take the request in time") from None
        except OSError as error:
            raise self._core.WriteError(reason_of(error)) from error

    @property
    def has_unsent(self) -> bool:
        """Whether part of a request has not left yet."""
        return self.wire.has_unsent

    async def settle(self) -> None:
        """Have what came meanwhile taken in, so that `is_readable` tells a word of the peer's from a TLS ticket."""
        await self.wire.settle()

    async def aclose(self) -> None:
        """Close; never waits."""
        self.wire.close()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "DeadlineStream":
        """Shake hands, and return this stream, now encrypted."""
        if self.is_ready:
            self.is_ready = False
            return self
        enter(Phase.TLS)
        left_s = time_left_s(timeout)
        if left_s is not None and left_s <= 0:
            self.wire.abort()
            raise self._core.ConnectTimeout("the deadline has passed")
        try:
            await self.wire.start_tls(ssl_context, server_hostname, left_s)
        except OSError as error:
            raise self._tls_failure(error) from error
        return self

    def _tls_failure(self, error: OSError) -> Exception:
        deadline = current_deadline.get()
        is_due = deadline is not None and deadline.remaining_s() < EARLY_S
        kind, message = self._core.ConnectError, f"TLS: {reason_of(error)}"
        if isinstance(error, ConnectionAbortedError) and is_due:
            kind, message = self._core.ConnectTimeout, "the TLS handshake took too long"
        failure: Exception = kind(message)
        return failure

    def get_extra_info(self, info: str) -> object:
        """Answer what httpcore asks of a connection."""
        if info == "is_readable":
            return self.wire.is_readable
        if info == "ssl_object":
            return self.wire.ssl_object
        return self.wire.detail(_EXTRA_NAMES[info]) if info in _EXTRA_NAMES else None


class DeadlineBackend(httpcore.AsyncNetworkBackend):
    """Opens the connections of one client, and knows each until it is closed.

    `core` is httpcore or its fork httpcore2: whose pool is above, and whose exceptions it wants to see.
    """

    def __init__(self, resolver: Resolver, core: ModuleType = httpcore) -> None:
        self.core = core
        self._resolver = resolver
        self._is_closed = False
        self.wires: set[Wire] = set()

    async def connect_tcp(  # noqa: PLR0917 # httpcore's signature
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> DeadlineStream:
        """Resolve `host` and connect to the first of its addresses that answers."""
        try:
            enter(Phase.DNS)
            addresses = await self._resolver.addresses(host, port, time_left_s(timeout))
            enter(Phase.CONNECT)
            wire = await connect(addresses, time_left_s(timeout))
        except TimeoutError:
            raise self.core.ConnectTimeout("no connection in time") from None
        except OSError as error:
            raise self.core.ConnectError(reason_of(error)) from error
        self._keep(wire)
        return DeadlineStream(wire, self.core)

    async def sleep(self, seconds: float) -> None:
        """Sleep, but not past the deadline."""
        left_s = time_left_s(seconds)
        await asyncio.sleep(seconds if left_s is None else max(left_s, 0))

    def _keep(self, wire: Wire) -> None:
        if self._is_closed:
            wire.abort()
            raise self.core.ConnectError("the client is closed")
        self.wires.add(wire)
        wire.closed.add_done_callback(lambda _: self.wires.discard(wire))

    async def aclose(self, grace_s: float) -> None:
        """Close what is open, politely for `grace_s`, then at once. New connections are refused from here on."""
        self._is_closed = True
        for wire in tuple(self.wires):
            wire.close()
        if self.wires:
            await asyncio.wait({wire.closed for wire in self.wires}, timeout=grace_s)
        for wire in tuple(self.wires):
            wire.abort()
        if self.wires:
            await asyncio.wait({wire.closed for wire in self.wires}, timeout=grace_s)


def reason_of(error: OSError) -> str:
    """Return the system's own word for what went wrong; addresses and data stay out of it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted ({error.verify_message})"
    if error.errno and not isinstance(error, ssl.SSLError | socket.gaierror):
        return os.strerror(error.errno).lower()
    return error.strerror or type(error).__name__
