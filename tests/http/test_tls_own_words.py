"""What TLS says for itself on a connection at rest (a ticket, a request for a certificate) does not end it."""

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import cast

import pytest
from certificates import authority, server_context
from http_calls import BOUND, in_loop, outgoing_to, turns
from raw_server import http_answer

from memotel.deadline import Deadline, current_deadline
from memotel.http.connections import ConnectionStack
from memotel.http.network import DeadlineBackend
from memotel.http.parking import ParkingBackend
from memotel.http.resolver import Resolver
from memotel.http.routes import Route

PATIENCE_S = 20.0


class TalkativeServer:
    """Answers over TLS 1.3, and asks for a certificate when `may_ask` is set, after so many answers."""

    def __init__(self, answers_before: int) -> None:
        self._answers_before = answers_before
        self.may_ask = threading.Event()
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._context = server_context("127.0.0.1", client_authority=authority())
        self._context.verify_mode = ssl.CERT_OPTIONAL
        self._context.post_handshake_auth = True
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                peer = self._listener.accept()[0]
                self.connections += 1
                self._threads.append(threading.Thread(target=self._talk, args=(peer,)))
                self._threads[-1].start()

    def _talk(self, raw: socket.socket) -> None:
        raw.settimeout(PATIENCE_S)
        with suppress(OSError), self._context.wrap_socket(raw, server_side=True) as peer:
            for _ in range(self._answers_before):
                peer.recv(65536)
                peer.sendall(http_answer())
            if self.may_ask.wait(PATIENCE_S):
                peer.verify_client_post_handshake()
                peer.do_handshake()
            while peer.recv(65536):
                peer.sendall(http_answer())

    def close(self) -> None:
        self.may_ask.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in tuple(self._threads):
            thread.join(PATIENCE_S)


@contextmanager
def talkative_server(answers_before: int) -> Iterator[TalkativeServer]:
    server = TalkativeServer(answers_before)
    try:
        yield server
    finally:
        server.close()


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority().configure_trust(context)
    context.post_handshake_auth = True
    return context


@pytest.mark.parametrize("is_warmed", [True, False], ids=["parked", "idle"])
@pytest.mark.usefixtures("any_loop")
def test_what_tls_said_while_the_loop_was_busy_does_not_end_a_connection(is_warmed: bool) -> None:
    async def scenario(server: TalkativeServer) -> None:
        current_deadline.set(Deadline.after(PATIENCE_S))
        network = DeadlineBackend(Resolver())
        parking = ParkingBackend(network, 30.0)
        route = Route("127.0.0.1", server.port, is_tls=True, context=trusting())
        connections = ConnectionStack(route, parking, keepalive_s=30.0)
        request = outgoing_to(f"https://127.0.0.1:{server.port}")
        if is_warmed:
            await parking.park(route.address, route.port, route.context)
        else:
            await connections.exchange(request, BOUND)
        await turns()  # uvloop's last words of a handshake leave in the next round
        [wire] = network.wires
        server.may_ask.set()
        # The loop does not come round until the bytes are there: it is this thread that waits.
        sock = cast("socket.socket", wire.detail("socket"))
        assert select.select([sock], [], [], PATIENCE_S)[0]
        assert (await connections.exchange(request, BOUND)).status == 200
        assert server.connections == 1
        await connections.aclose()
        await network.aclose(PATIENCE_S)

    with talkative_server(0 if is_warmed else 1) as server:
        in_loop(scenario(server))
