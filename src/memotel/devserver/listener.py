"""The listening sockets: open, silent (connects, never answers) or refusing."""

import asyncio
import errno
import ipaddress
import socket
import ssl
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.server import ServerState

from memotel.devserver.faults import FaultKind
from memotel.devserver.wire import WiredProtocol

BACKLOG: Final = 2048
# localhost is often listed with an IPv6 address that the machine does not have.
_NO_SUCH_ADDRESS: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


@dataclass(frozen=True, slots=True)
class Listening:
    """How a server listens: how long it keeps an idle connection, the seed of its delays."""

    keep_alive_s: float = 75.0
    seed: int = 0


def bind(host: str, port: int, *, allow_remote: bool) -> list[socket.socket]:
    """Bind a TCP socket to each address of a host, all on one port, and listen.

    Raises:
        ValueError: an address is not loopback and ``allow_remote`` is False.
        OSError: the port is taken (EADDRINUSE), or the host is unknown.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    addresses = dict.fromkeys((family, str(address[0])) for family, *_, address in found)
    for _, address in addresses:
        if not (allow_remote or ipaddress.ip_address(address.partition("%")[0]).is_loopback):
            raise ValueError(f"host={host!r} is reachable from outside: allow_remote is needed")
    sockets: list[socket.socket] = []
    absent: list[OSError] = []
    for family, address in addresses:
        try:
            sockets.append(_listen(family, address, _port(sockets, port)))
        except OSError as error:
            if error.errno not in _NO_SUCH_ADDRESS:
                _close(sockets)
                raise
            absent.append(error)
    if not sockets:
        raise absent[0]
    return sockets


def _port(sockets: list[socket.socket], port: int) -> int:
    return int(sockets[0].getsockname()[1]) if sockets else port


def _listen(family: int, address: str, port: int) -> socket.socket:
    # asyncio sets TCP_NODELAY only where the protocol is named: else each answer takes 40 ms.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, port))
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def _close(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        sock.close()


class Listener:
    """Serves an application on listening sockets. The loop that made it owns it.

    While silent the sockets stay open and nobody accepts: the kernel completes the TCP handshake
    and keeps what the client sends. Those clients are served when the silence ends.
    """

    def __init__(
        self,
        app: ASGIApp,
        sockets: list[socket.socket],
        tls: ssl.SSLContext | None,
        options: Listening,
    ) -> None:
        self._config = Config(
            app,
            http=WiredProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            proxy_headers=False,
            timeout_keep_alive=options.keep_alive_s,  # type: ignore[arg-type]  # call_later takes floats
        )
        self._config.load()
        self._state = ServerState()
        self._sockets = sockets
        self._addresses = [(sock.family, sock.getsockname()) for sock in sockets]
        self._tls = tls
        self._servers: list[asyncio.Server] = []
        self._changing = asyncio.Lock()

    @property
    def connections(self) -> frozenset[WiredProtocol]:
        """The open connections (over TLS: those whose handshake is done)."""
        found = self._state.connections
        return frozenset(one for one in found if isinstance(one, WiredProtocol))

    async def follow(self, mode: FaultKind | None) -> None:
        """Serve (None), be silent, or refuse. Idempotent.

        Raises:
            OSError: the port was taken by another process while refusing.
        """
        async with self._changing:
            if mode is FaultKind.REFUSE:
                self._refuse()
            elif mode is FaultKind.SILENT:
                self._listen()
                self._stop_accepting()
            else:
                self._listen()
                await self._accept()

    async def close(self) -> None:
        """Stop listening, reset every connection, wait for the requests in progress to end."""
        async with self._changing:
            self._refuse()
        tasks = self._state.tasks
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)

    def reset_busy(self) -> None:
        """Abort the connections whose request is not answered yet."""
        for connection in self.connections:
            if connection.is_busy:
                connection.transport.abort()

    async def _accept(self) -> None:
        if self._servers:
            return
        loop = asyncio.get_running_loop()
        protocol = partial(WiredProtocol, self._config, self._state, {}, loop)
        for sock in self._sockets:
            server = await loop.create_server(
                protocol, sock=sock.dup(), ssl=self._tls, backlog=BACKLOG
            )
            self._servers.append(server)

    def _stop_accepting(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()

    def _listen(self) -> None:
        if not self._sockets:
            self._sockets = [
                _listen(family, str(address[0]), int(address[1]))
                for family, address in self._addresses
            ]

    def _refuse(self) -> None:
        self._stop_accepting()
        _close(self._sockets)
        self._sockets = []
        for connection in self.connections:
            connection.transport.abort()
