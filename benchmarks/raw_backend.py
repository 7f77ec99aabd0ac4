"""A memory service that costs next to nothing: both services' smallest answers, from one asyncio protocol.

It runs in a process of its own. It can be slow, hang, or do either for a share of its requests; it cannot be wrong.
It counts the writes that it has answered for good, and when.
"""

import asyncio
import json
import multiprocessing
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import cast

FACT = "likes oolong tea in the morning"
_ITEM = {"id": "mem_1", "memory_id": "m_1", "content": FACT, "value": FACT, "score": 0.87}
_TURN = {"memory_id": None, "status": "processing", "processing_status": "distilling"}
RECALLS = frozenset({b"/v1/memory/recall", b"/v1/memory/query", b"/api/v2/memories/search"})
WRITES = frozenset({b"/v1/memory/add_turn", b"/memory/add", b"/api/v2/memories"})
MARK_EVERY = 100
"""Of so many writes one instant is noted."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How recalls are answered: after `delay_s`, or never for `hang_share` of them; `is_hung`: nothing is answered.

    `are_writes_hung`: writes are never answered. `retry_after_s`: a write is answered 429, to be sent that much later.
    """

    delay_s: float = 0.0
    hang_share: float = 0.0
    is_hung: bool = False
    are_writes_hung: bool = False
    retry_after_s: int | None = None


@dataclass(slots=True)
class Tally:
    """The writes that were stored.

    Attributes:
        writes: how many.
        bodies: how many different ones.
        marks: when (monotonic seconds, of the machine) the first one and each `MARK_EVERY`-th was.
    """

    writes: int = 0
    bodies: int = 0
    marks: list[float] = field(default_factory=list)


def _answer(status: bytes, body: object) -> bytes:
    text = json.dumps(body, separators=(",", ":")).encode()
    return (
        b"HTTP/1.1 %b\r\ncontent-type: application/json\r\nx-request-id: req_1\r\ncontent-length: %d\r\n\r\n%b"
        % (status, len(text), text)
    )


_ANSWERS = {
    b"/org/projects": _answer(b"200 OK", [{"tenant_id": "t_1"}]),
    b"/v1/memory/recall": _answer(b"200 OK", {"context": f"- {FACT}", "memories": [_ITEM]}),
    b"/v1/memory/query": _answer(b"200 OK", {"memories": [_ITEM]}),
    b"/v1/memory/add_turn": _answer(b"201 Created", _TURN),
    b"/memory/add": _answer(b"200 OK", {"id": 12, "text": FACT}),
    b"/api/v2/memories/search": _answer(b"200 OK", {"data": [_ITEM]}),
    b"/api/v2/memories": _answer(b"201 Created", {"id": "mem_2", "content": FACT}),
}
_NOT_FOUND = _answer(b"404 Not Found", {"detail": "no such route"})


def _busy(retry_after_s: int) -> bytes:
    return (
        b"HTTP/1.1 429 Too Many Requests\r\nretry-after: %d\r\ncontent-type: application/json\r\n"
        b"content-length: 2\r\n\r\n{}" % retry_after_s
    )


class _Service:
    """What all connections share."""

    def __init__(self) -> None:
        self.behaviour = Behaviour()
        self.random = random.Random(1)  # noqa: S311 # which requests hang need not be a secret
        self.connections: set[_Peer] = set()
        self.forget()

    def forget(self) -> None:
        """Count from nothing again."""
        self.tally = Tally()
        self._bodies: set[int] = set()

    def store(self, body: bytes) -> None:
        """Count a write."""
        tally = self.tally
        tally.writes += 1
        self._bodies.add(hash(body))
        tally.bodies = len(self._bodies)
        if tally.writes == 1 or tally.writes % MARK_EVERY == 0:
            tally.marks.append(time.monotonic())


class _Peer(asyncio.Protocol):
    """One connection: requests one after another, each a head and a body of known length."""

    def __init__(self, service: _Service) -> None:
        self._service = service
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the interface and not the class.
        self.transport = cast("asyncio.Transport", transport)
        self._service.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._service.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = self._received[:end]
            length = end + 4 + _length(head)
            if len(self._received) < length:
                return
            body = self._received[end + 4 : length]
            self._received = self._received[length:]
            self._reply(head.split(b" ", 2)[1], body)

    def _reply(self, path: bytes, body: bytes) -> None:
        behaviour = self._service.behaviour
        answer = _ANSWERS.get(path, _NOT_FOUND)
        if behaviour.is_hung:
            return
        if path in WRITES:
            if behaviour.are_writes_hung:
                return
            if behaviour.retry_after_s is None:
                self._service.store(body)
            else:
                answer = _busy(behaviour.retry_after_s)
        if path in RECALLS:
            if self._service.random.random() < behaviour.hang_share:
                return
            if behaviour.delay_s:
                loop = asyncio.get_running_loop()
                loop.call_later(behaviour.delay_s, self.transport.write, answer)
                return
        self.transport.write(answer)


def _length(head: bytes) -> int:
    at = head.lower().find(b"content-length:")
    return int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0


class RawBackend:
    """The service as a benchmark's process sees it."""

    def __init__(self, url: str, pipe: Connection) -> None:
        self.url = url
        self._pipe = pipe

    def behave(self, behaviour: Behaviour) -> None:
        """Have every request from now on answered so; one that hangs is never answered."""
        self._pipe.send(behaviour)
        self._pipe.recv()

    def connections(self) -> int:
        """Return how many connections are open."""
        self._pipe.send("connections")
        found: int = self._pipe.recv()
        return found

    def tally(self) -> Tally:
        """Return what has been stored."""
        self._pipe.send("tally")
        found: Tally = self._pipe.recv()
        return found

    def forget(self) -> None:
        """Count from nothing again."""
        self._pipe.send("forget")
        self._pipe.recv()

    def wait_for(self, writes: int, timeout_s: float) -> Tally:
        """Return the tally when so many writes are stored, or as it is after `timeout_s` seconds."""
        until = time.monotonic() + timeout_s
        while (found := self.tally()).writes < writes and time.monotonic() < until:
            time.sleep(0.05)
        return found


@contextmanager
def raw_backend() -> Iterator[RawBackend]:
    """Run the service in a process of its own while the block runs."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield RawBackend(f"http://127.0.0.1:{ours.recv()}", ours)
    finally:
        ours.close()
        process.join(5)
        if process.is_alive():
            process.kill()


def _serve(pipe: Connection) -> None:
    try:
        import uvloop as loops  # where it is there, it makes the yardstick finer
    except ImportError:
        loops = asyncio  # type: ignore[assignment] # both have new_event_loop
    with asyncio.Runner(loop_factory=loops.new_event_loop) as runner, suppress(EOFError):
        runner.run(_run(pipe))


async def _run(pipe: Connection) -> None:
    service = _Service()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Peer(service), "127.0.0.1", 0, backlog=1024)
    pipe.send(server.sockets[0].getsockname()[1])
    ended = loop.create_future()
    loop.add_reader(pipe.fileno(), _obey, pipe, service, ended)
    await ended
    loop.remove_reader(pipe.fileno())
    server.close()


def _obey(pipe: Connection, service: _Service, ended: "asyncio.Future[None]") -> None:
    try:
        order = pipe.recv()
    except EOFError:
        ended.set_result(None)
        return
    if isinstance(order, Behaviour):
        service.behaviour = order
    if order == "forget":
        service.forget()
    pipe.send(service.tally if order == "tally" else len(service.connections))
