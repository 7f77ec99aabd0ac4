"""A server that does with each connection exactly what a test says, byte by byte, on the test's own loop."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

RST_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came: the head's lines, and the body."""

    line: str
    headers: dict[str, str]
    body: bytes


class Peer:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def request(self) -> Received:
        """Return the next request; raises `IncompleteReadError` when the client is gone."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *rest = head.strip().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (item.partition(":") for item in rest)}
        body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return Received(line, headers, body)

    async def send(self, data: bytes) -> None:
        """Send `data`."""
        self.writer.write(data)
        await self.writer.drain()

    async def until_gone(self) -> None:
        """Wait until the client closes the connection."""
        while await self.reader.read(65536):
            pass

    def reset(self) -> None:
        """End the connection with a reset."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST_ON_CLOSE)
        self.writer.transport.abort()


Behaviour = Callable[[Peer], Awaitable[None]]


@dataclass
class RawServer:
    """A running server, and how many connections it had and has."""

    port: int
    scheme: str = "http"
    connections: int = 0
    open: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def note(self, change: int) -> None:
        """Note a connection that came (1) or went (-1)."""
        self.open += change
        self.connections += change > 0
        self._changed.set()

    async def until(self, is_so: Callable[["RawServer"], bool]) -> None:
        """Wait until `is_so(self)`; the test's own timeout ends a wait in vain."""
        while not is_so(self):
            self._changed.clear()
            await self._changed.wait()


@asynccontextmanager
async def raw_server(
    behaviour: Behaviour, *, context: ssl.SSLContext | None = None
) -> AsyncIterator[RawServer]:
    """Serve `behaviour` on a free loopback port; it may end at any time, by any error of the connection."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        served.note(1)
        try:
            await behaviour(Peer(reader, writer))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client is gone, or the test is over
        finally:
            served.note(-1)
            tasks.discard(task)
            writer.transport.abort()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    served = RawServer(listener.sockets[0].getsockname()[1], "https" if context else "http")
    try:
        yield served
    finally:
        listener.close()
        for task in tuple(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=5)
        await asyncio.sleep(0)


def http_answer(body: bytes = b"{}", *, status: str = "200 OK", headers: str = "") -> bytes:
    """Return an answer with a content length; `headers` are whole lines, each with its line end."""
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{headers}\r\n".encode() + body


def answering(answer: bytes, received: list[Received] | None = None) -> Behaviour:
    """Answer every request of a connection with `answer`."""

    async def behave(peer: Peer) -> None:
        while True:
            request = await peer.request()
            if received is not None:
                received.append(request)
            await peer.send(answer)

    return behave


async def black_hole(peer: Peer) -> None:
    """Take everything and say nothing."""
    await peer.until_gone()


def connect_proxy(
    received: list[Received], *, port: int, status: str = "200 OK", more: bytes = b""
) -> Behaviour:
    """Be a proxy whose tunnels all lead to `port` on loopback, whatever host was asked for.

    `more` is what it says of its own after the status line: header lines, and what stands behind the head.
    """

    async def behave(peer: Peer) -> None:
        received.append(await peer.request())
        await peer.send(f"HTTP/1.1 {status}\r\n".encode() + (more or b"\r\n"))
        if not status.startswith("2"):
            return
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.gather(_pump(peer.reader, writer), _pump(reader, peer.writer))
        finally:
            writer.transport.abort()

    return behave


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()
