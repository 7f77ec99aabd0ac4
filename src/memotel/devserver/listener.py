"""Accepts connections: serving them, silent (TCP connects, nobody answers) or refusing."""

import asyncio
import contextlib
import socket
import ssl
from dataclasses import dataclass
from typing import Final

from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.server import ServerState

from memotel.devserver.faults import FaultKind
from memotel.devserver.sockets import close_all, listen_on
from memotel.devserver.wire import WiredProtocol

ACCEPTS_A_TURN: Final = 100
REQUESTS_END_WITHIN_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Listening:
    """How a server listens: how long it keeps an idle connection, the seed of its delays."""

    keep_alive_s: float = 75.0
    seed: int = 0


class Listener:
    """Serves an application on listening sockets. The loop that made it owns it.

    While silent the sockets listen and nobody accepts: the kernel completes the TCP handshake
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
        self._loop = asyncio.get_running_loop()
        self._tls = tls
        self._sockets = sockets
        self._addresses = [(sock.family, sock.getsockname()) for sock in sockets]
        self._beginning: set[asyncio.Task[None]] = set()
        self._changing = asyncio.Lock()

    @property
    def connections(self) -> frozenset[WiredProtocol]:
        """The open connections; over TLS those whose handshake is done."""
        found = self._state.connections
        return frozenset(one for one in found if isinstance(one, WiredProtocol))

    async def follow(self, mode: FaultKind | None) -> None:
        """Serve (None), be silent, or refuse. Idempotent.

        Raises:
            OSError: the port was taken by another process while refusing.
        """
        async with self._changing:
            if mode is FaultKind.REFUSE:
                await self._refuse()
                return
            self._listen()
            if mode is FaultKind.SILENT:
                self._stop_accepting()
            else:
                self._start_accepting()

    async def close(self) -> None:
        """Stop listening, drop every connection, wait for the requests in progress to end."""
        async with self._changing:
            await self._refuse()
        if self._state.tasks:
            await asyncio.wait(self._state.tasks, timeout=REQUESTS_END_WITHIN_S)

    def drop_busy(self) -> None:
        """Drop the connections whose request is not answered yet."""
        for connection in self.connections:
            if connection.is_busy:
                connection.transport.abort()

    def _listen(self) -> None:
        if not self._sockets:
            self._sockets = [
                listen_on(family, str(address[0]), int(address[1]))
                for family, address in self._addresses
            ]

    def _start_accepting(self) -> None:
        for sock in self._sockets:
            self._loop.add_reader(sock, self._accept, sock)

    def _stop_accepting(self) -> None:
        for sock in self._sockets:
            self._loop.remove_reader(sock)

    async def _refuse(self) -> None:
        self._stop_accepting()
        close_all(self._sockets)
        self._sockets = []
        # One turn of the loop, so that each begins: only then does a cancellation close its socket.
        await asyncio.sleep(0)
        for task in self._beginning:
            task.cancel()
        await asyncio.gather(*self._beginning, return_exceptions=True)
        for connection in self.connections:
            connection.transport.abort()

    def _accept(self, sock: socket.socket) -> None:
        for _ in range(ACCEPTS_A_TURN):
            try:
                accepted, _address = sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            accepted.setblocking(False)
            task = self._loop.create_task(self._begin(accepted))
            self._beginning.add(task)
            task.add_done_callback(self._beginning.discard)

    async def _begin(self, accepted: socket.socket) -> None:
        """Hand a connection to uvicorn's protocol, after the TLS handshake if there is one.

        asyncio's own server is not used: closed while a connection begins, it leaks it.
        """
        # A handshake that fails is the client's affair.
        with contextlib.suppress(OSError):
            await self._loop.connect_accepted_socket(self._protocol, accepted, ssl=self._tls)

    def _protocol(self) -> WiredProtocol:
        return WiredProtocol(self._config, self._state, {}, self._loop)
