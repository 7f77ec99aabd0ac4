"""An answer that nobody asked for: found in the socket before the next request, also where the loop had no time to read."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from http_calls import BOUND, in_loop, outgoing_to
from raw_server import http_answer

from memotel.http.connections import ConnectionStack
from memotel.http.network import DeadlineBackend
from memotel.http.resolver import Resolver
from memotel.http.routes import direct_route

PATIENCE_S = 20.0
MINE = http_answer(b'{"whose": "mine"}')
UNASKED = http_answer(b'{"whose": "somebody else"}')


@contextmanager
def server_that_speaks_unasked(spoken: bytes, may_speak: threading.Event) -> Iterator[str]:
    """Answer each request on a thread of its own; when `may_speak` is set, say `spoken` on the first connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def answer(peer: socket.socket, speaks: bool) -> None:
        with peer, suppress(ConnectionError):
            while peer.recv(65536):
                peer.sendall(MINE)
                if speaks and may_speak.wait(PATIENCE_S):
                    peer.sendall(spoken)
                    if not spoken:
                        return

    def serve() -> None:
        for is_first in (True, False):
            peer = listener.accept()[0]
            threads.append(threading.Thread(target=answer, args=(peer, is_first)))
            threads[-1].start()

    with listener:
        server = threading.Thread(target=serve)
        server.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        for thread in [server, *threads]:
            thread.join(PATIENCE_S)


@pytest.mark.parametrize("spoken", [UNASKED, b"HTTP/1.1 408 Request Timeout\r\n\r\n", b"x", b""])
@pytest.mark.usefixtures("any_loop")
def test_what_came_while_the_loop_was_busy_is_no_answer_to_the_next_request(spoken: bytes) -> None:
    may_speak = threading.Event()

    async def scenario(url: str) -> None:
        network = DeadlineBackend(Resolver())
        connections = ConnectionStack(direct_route(url), network, keepalive_s=30.0)
        request = outgoing_to(url)
        assert b"mine" in (await connections.exchange(request, BOUND)).body
        [first] = connections.connections
        [wire] = network.wires
        may_speak.set()
        # The loop does not come round until the bytes (or the end) are there: it is this thread that waits.
        assert select.select([wire.detail("socket")], [], [], PATIENCE_S)[0]
        assert b"mine" in (await connections.exchange(request, BOUND)).body
        assert first.is_closed()
        await connections.aclose()
        await network.aclose(PATIENCE_S)

    with server_that_speaks_unasked(spoken, may_speak) as url:
        in_loop(scenario(url))
