"""A connection opened ahead of its request, so that the first one need not wait for handshakes.

httpcore opens connections only for requests. Here one waits below the pool until the pool asks for just that one.
"""

import ssl
from collections.abc import Iterable
from dataclasses import dataclass

import httpcore

from memotel.deadline import monotonic
from memotel.http.network import DeadlineBackend, DeadlineStream
from memotel.http.tunnel import TunnelBackend

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Parked:
    stream: DeadlineStream
    since: float

    async def is_usable(self, keep_s: float) -> bool:
        """Whether it is fresh, and the peer has neither spoken nor left."""
        await self.stream.settle()
        return monotonic() - self.since < keep_s and not self.stream.wire.is_readable


class ParkingBackend(httpcore.AsyncNetworkBackend):
    """Hands out a parked connection where there is one, else opens one."""

    def __init__(self, inner: DeadlineBackend | TunnelBackend, keep_s: float) -> None:
        self._inner = inner
        self._keep_s = keep_s
        self._parked: dict[Place, _Parked] = {}
        self._coming: set[Place] = set()

    async def is_taken(self, host: str, port: int) -> bool:
        """Whether a usable connection waits, or will."""
        parked = self._parked.get((host, port))
        is_waiting = parked is not None and await parked.is_usable(self._keep_s)
        return is_waiting or (host, port) in self._coming

    async def park(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        """Open a connection, in TLS where a context is given, and keep it for the next who asks."""
        self._coming.add((host, port))
        try:
            stream = await self._opened(host, port, context)
        finally:
            self._coming.discard((host, port))
        self._drop(self._parked.pop((host, port), None))
        self._parked[host, port] = _Parked(stream, monotonic())

    async def _opened(self, host: str, port: int, context: ssl.SSLContext | None) -> DeadlineStream:
        stream = await self._inner.connect_tcp(host, port)
        if context is not None:
            context.set_alpn_protocols(["http/1.1"])
            await stream.start_tls(context, host)
            stream.is_ready = True
        return stream

    async def connect_tcp(  # noqa: PLR0917 # httpcore's signature
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> DeadlineStream:
        """Return a connection to `host`."""
        parked = self._parked.pop((host, port), None)
        try:
            if parked is not None and await parked.is_usable(self._keep_s):
                return parked.stream
        except BaseException:
            self._drop(parked)
            raise
        self._drop(parked)
        return await self._inner.connect_tcp(host, port, timeout)

    async def sleep(self, seconds: float) -> None:
        """Sleep, but not past the deadline."""
        await self._inner.sleep(seconds)

    @staticmethod
    def _drop(parked: _Parked | None) -> None:
        if parked is not None:
            parked.stream.wire.close()
