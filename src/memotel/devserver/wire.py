"""Access to a client's connection, below ASGI: to reset it, to close it, to know that it is gone."""

import asyncio
import contextlib
import socket
import struct
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

STATE_KEY = "wire"


class Wire:
    """One client's TCP (and TLS) connection."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._gone = asyncio.Event()

    def opened(self, transport: asyncio.Transport) -> None:
        """Note the transport that the connection came with."""
        self._transport = transport

    def lost(self) -> None:
        """Note that the connection is gone."""
        self._gone.set()

    async def reset(self) -> None:
        """Reset the connection: the client sees RST. Bytes already written may be lost."""
        if self._transport is not None:
            sock = self._transport.get_extra_info("socket")
            with contextlib.suppress(OSError):  # the client has gone already
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()
        await self.gone()

    async def close(self) -> None:
        """Close the connection in good order: the client sees an end of file."""
        if self._transport is not None:
            self._transport.close()
        await self.gone()

    def write(self, data: bytes) -> None:
        """Send bytes as they are, beneath HTTP."""
        if self._transport is not None:
            self._transport.write(data)

    async def gone(self, within_s: float | None = None) -> bool:
        """Wait until the connection is gone; return False if that takes longer than that."""
        try:
            async with asyncio.timeout(within_s):
                await self._gone.wait()
        except TimeoutError:
            return False
        return True


class WiredProtocol(H11Protocol):
    """Uvicorn's HTTP protocol that hands its `Wire` to the application, in the scope's state."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.wire = Wire()
        super().__init__(config, server_state, {**app_state, STATE_KEY: self.wire}, _loop)
        self.access_log = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Note the transport."""
        self.wire.opened(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell uvicorn first, so that whoever waits on the wire finds it marked as gone."""
        super().connection_lost(exc)
        self.wire.lost()

    @property
    def is_busy(self) -> bool:
        """Say whether a request on this connection is not answered yet."""
        return bool(self.cycle) and not self.cycle.response_complete
