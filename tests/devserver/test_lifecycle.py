"""Starting and stopping: often, quickly, whatever hangs, leaving nothing behind."""

import asyncio
import errno
import gc
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from devserver_http import client_of, recall, remember
from raw_client import chunks, connect, post

from memotel.devserver import DevServer, Fault, FaultKind, Route
from memotel.devserver.loop_thread import LoopThread
from memotel.devserver.sockets import bind


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_server_starts_and_stops_many_times_and_leaves_no_thread(tls: bool) -> None:
    threads = threading.active_count()
    ports = set()
    for _ in range(10):
        with DevServer(tls=tls) as server, client_of(server) as client:
            assert recall(client, "tea").status_code == 200
            ports.add(server.port)
    gc.collect()
    assert threading.active_count() == threads
    assert len(ports) > 1


def test_stop_and_start_keep_port_and_memories() -> None:
    server = DevServer().start()
    url = server.url
    with client_of(server) as client:
        remember(client, "I like green tea")
        server.stop()
        with pytest.raises(httpx.ConnectError):
            recall(client, "green tea")
        server.start()
        assert server.url == url
        assert recall(client, "green tea").json()["context"] == "- I like green tea"
    server.stop()
    assert [item.text for item in server.items("ada")] == ["human: I like green tea"]


def test_start_and_stop_can_be_called_twice() -> None:
    server = DevServer().start()
    assert server.start() is server
    server.stop()
    server.stop()
    assert server.connections_open == 0


HANGING = [
    Fault("hang"),
    Fault("delay", delay_s=3600.0),
    Fault("drip", interval_s=3600.0),
    Fault("drip", interval_s=3600.0, head=True),
    Fault("silent"),
]


@pytest.mark.parametrize("fault", HANGING, ids=lambda fault: f"{fault.kind}-{fault.head}")
@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_stop_waits_for_no_request(
    fault: Fault, tls: bool, caplog: pytest.LogCaptureFixture
) -> None:
    server = DevServer(tls=tls).start()
    with connect(server.url, server.ca_file) as sock:
        asked: dict[str, object] = {"tenant_id": "default", "user_id": "ada", "prompt": "tea"}
        server.faults.set(fault)
        sock.sendall(post("/v1/memory/recall", asked, X_API_Key="key"))
        if fault.kind is not FaultKind.SILENT:
            assert server.wait_until(lambda: len(server.requests()) == 1)
        server.stop()
        assert b'"memories"' not in rest_of(sock)
    gc.collect()
    assert caplog.records == []


def rest_of(sock: socket.socket) -> bytes:
    """Read to the end of the stream, in whichever way the server ends it."""
    received = b""
    try:
        for chunk in chunks(sock):
            received += chunk
    except ConnectionResetError:
        pass
    return received


def test_stop_ends_a_tls_handshake_that_never_comes() -> None:
    server = DevServer(tls=True).start()
    with connect(server.url) as sock:
        with client_of(server) as client:
            assert recall(client, "tea").status_code == 200
        server.stop()
        assert sock.recv(1) == b""
    gc.collect()


def test_taken_port_is_an_error_of_start() -> None:
    with DevServer() as first, pytest.raises(OSError, match="in use") as raised:
        DevServer(port=first.port).start()
    assert raised.value.errno == errno.EADDRINUSE


def test_host_that_is_not_loopback_needs_allow_remote() -> None:
    with pytest.raises(ValueError, match="allow_remote"):
        DevServer(host="0.0.0.0").start()
    with DevServer(host="0.0.0.0", allow_remote=True) as server:
        assert httpx.get(f"http://127.0.0.1:{server.port}/_health").status_code == 200


def test_localhost_is_served() -> None:
    with DevServer(host="localhost") as server:
        assert server.url == f"http://localhost:{server.port}"
        assert httpx.get(f"{server.url}/_health", trust_env=False).json() == {"status": "ok"}


def test_file_keeps_memories_over_servers(tmp_path: Path) -> None:
    path = tmp_path / "memories.sqlite"
    with DevServer(db=path) as server, client_of(server) as client:
        remember(client, "I like green tea")
    with DevServer(db=path) as server, client_of(server) as client:
        assert recall(client, "green tea").json()["context"] == "- I like green tea"
        assert remember(client, "I like green tea").json()["already_exists"] is True


def test_ca_file_is_removed_with_the_server() -> None:
    server = DevServer(tls=True)
    path = server.ca_file
    assert path is not None
    assert path.read_text().startswith("-----BEGIN CERTIFICATE-----")
    del server
    gc.collect()
    assert not path.exists()


def test_hundreds_of_connections_are_served_at_a_time() -> None:
    async def ask(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        asked: dict[str, object] = {"tenant_id": "default", "user_id": "ada", "prompt": "tea"}
        writer.write(post("/v1/memory/recall", asked, X_API_Key="key"))
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer[:15]

    async def ask_all(port: int) -> list[bytes]:
        return await asyncio.gather(*(ask(port) for _ in range(300)))

    # One after the other they would take 15 minutes, and the test's own time limit end them.
    with DevServer(faults=[Fault("delay", delay_s=3.0)]) as server:
        assert asyncio.run(ask_all(server.port)) == [b"HTTP/1.1 200 OK"] * 300
        assert server.state().requests[Route.MEMORYSYNC_RECALL] == 300


def test_methods_answer_while_requests_hang() -> None:
    with DevServer(faults=[Fault("hang")]) as server, ThreadPoolExecutor(8) as pool:

        def ask() -> None:
            with client_of(server) as client, pytest.raises(httpx.TransportError):
                recall(client, "tea")

        asking = [pool.submit(ask) for _ in range(8)]
        assert server.wait_until(lambda: len(server.requests()) == 8)
        assert server.connections_open == 8
        server.stop()
        assert [one.result(5) for one in asking] == [None] * 8


def test_idle_connection_is_closed_after_the_keep_alive_time() -> None:
    with DevServer(keep_alive_s=0.05) as server, connect(server.url) as sock:
        sock.sendall(b"GET /_health HTTP/1.1\r\nHost: server\r\n\r\n")
        received = b"".join(iter(lambda: sock.recv(65536), b""))
        assert received.endswith(b'{"status":"ok"}')


def test_reset_forgets_and_leaves_requests_unanswered() -> None:
    with DevServer(faults=[Fault("delay", delay_s=3600.0)]) as server:
        with ThreadPoolExecutor(1) as pool, client_of(server) as client:
            sending = pool.submit(remember, client, "I like green tea")
            assert server.wait_until(lambda: len(server.requests()) == 1)
            server.reset()
            with pytest.raises(httpx.TransportError):
                sending.result(5)
            assert remember(client, "I live in Oslo").status_code == 201
        assert [item.text for item in server.items()] == ["human: I live in Oslo"]


def test_accepted_connections_send_without_delay() -> None:
    """Without TCP_NODELAY each answer waits for the client's delayed acknowledgement."""
    (sock,) = bind("127.0.0.1", 0, allow_remote=False)
    with sock, socket.create_connection(sock.getsockname()):
        sock.setblocking(True)
        accepted, _ = sock.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP


def test_upload_that_breaks_off_is_no_request() -> None:
    with DevServer() as server:
        with connect(server.url) as sock:
            sock.sendall(post("/v1/memory/recall", {"prompt": "tea"})[:-5])
        with client_of(server) as client:
            assert recall(client, "tea").status_code == 200
        assert len(server.requests()) == 1


def test_claim_that_never_comes_true_is_given_up() -> None:
    with DevServer() as server:
        assert server.wait_until(lambda: bool(server.items()), timeout_s=0.05) is False


def test_work_that_the_loop_did_not_finish_is_an_error() -> None:
    thread = LoopThread("test")
    with ThreadPoolExecutor(1) as pool:
        began = threading.Event()

        async def wait_for_ever() -> None:
            began.set()
            await asyncio.Event().wait()

        working = pool.submit(lambda: thread.run(wait_for_ever()))
        assert began.wait(5.0)
        thread.stop()
        with pytest.raises(RuntimeError, match="the loop stopped"):
            working.result(5.0)
