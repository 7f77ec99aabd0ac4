"""The deadline against peers of every bad kind.

Each request here has a budget of 0.2 s, and `post` checks that it ended within that and one second for a loaded
machine. The peers would otherwise hold it for ever, so the bound is generous and still cannot be met by chance.
"""

import asyncio
from pathlib import Path

import pytest
from certificates import ca_file, server_context
from http_calls import Where, client_for, in_loop, post, turns
from raw_server import Peer, answering, black_hole, http_answer, raw_server
from sockets import full_backlog, refused_port

from memotel.errors import BudgetExceededError, ResponseFormatError, TransportError
from memotel.outcomes import Phase

pytestmark = pytest.mark.usefixtures("any_ground")

BUDGET_S = 0.2
HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"


async def drips_the_body(peer: Peer) -> None:
    await peer.request()
    await peer.send(HEAD)
    await _drip(peer, b"x" * 1000)


async def drips_the_head(peer: Peer) -> None:
    await peer.request()
    await _drip(peer, b"HTTP/1.1 200 OK\r\nx-filler: " + b"x" * 1000)


async def drips_informational_answers(peer: Peer) -> None:
    await peer.request()
    while True:
        await _drip(peer, b"HTTP/1.1 102 Processing\r\n\r\n")


async def hangs_after_the_head(peer: Peer) -> None:
    await peer.request()
    await peer.send(HEAD)
    await peer.until_gone()


async def _drip(peer: Peer, data: bytes) -> None:
    for index in range(len(data)):
        await peer.send(data[index : index + 1])
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("is_tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize(
    "behaviour",
    [
        black_hole,
        drips_the_body,
        drips_the_head,
        drips_informational_answers,
        hangs_after_the_head,
    ],
)
def test_a_peer_that_answers_too_slowly_is_left_at_the_deadline(
    behaviour, is_tls: bool, tmp_path
) -> None:
    async def scenario() -> None:
        context = server_context("127.0.0.1") if is_tls else None
        async with (
            raw_server(behaviour, context=context) as server,
            client_for(server.url, verify=ca_file(tmp_path)) as client,
        ):
            where = Where()
            with pytest.raises(BudgetExceededError) as caught:
                await post(client, budget_s=BUDGET_S, where=where)
            assert caught.value.phase is where.phase is Phase.READ
            await server.until(lambda s: s.open == 0)

    in_loop(scenario())


def test_a_peer_that_never_shakes_hands_is_left_at_the_deadline(any_ground: str) -> None:
    async def scenario() -> None:
        async with (
            raw_server(black_hole) as server,
            client_for(f"https://127.0.0.1:{server.port}", verify=False) as client,
        ):
            with pytest.raises(BudgetExceededError) as caught:
                await post(client, budget_s=BUDGET_S)
            assert caught.value.phase is (Phase.CONNECT if any_ground == "aiohttp" else Phase.TLS)
            await server.until(lambda s: s.open == 0)

    in_loop(scenario())


def test_a_peer_that_takes_no_bytes_is_left_at_the_deadline(any_ground: str) -> None:
    async def scenario() -> None:
        async def deaf(peer: Peer) -> None:
            peer.writer.transport.pause_reading()
            await asyncio.get_running_loop().create_future()

        async with raw_server(deaf) as server, client_for(server.url) as client:
            with pytest.raises(BudgetExceededError) as caught:
                await post(client, b"x" * 20_000_000, budget_s=BUDGET_S)
            assert caught.value.phase is (Phase.READ if any_ground == "aiohttp" else Phase.WRITE)

    in_loop(scenario())


@pytest.mark.parametrize("is_tls", [False, True], ids=["http", "https"])
def test_an_answer_that_comes_before_the_peer_took_the_whole_request_is_read(
    is_tls: bool, tmp_path: Path, any_ground: str
) -> None:
    async def refuse_unread(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await peer.send(http_answer(status="413 Content Too Large"))
        await asyncio.get_running_loop().create_future()

    async def scenario() -> None:
        context = server_context("127.0.0.1") if is_tls else None
        async with (
            raw_server(refuse_unread, context=context) as server,
            client_for(server.url, verify=ca_file(tmp_path)) as client,
        ):
            # aiohttp in TLS sends its next request behind what has not left.
            requests = 1 if any_ground == "aiohttp" else 2
            for count in range(1, requests + 1):
                assert (await post(client, b"x" * 20_000_000)).status == 413
                assert server.connections == count

    in_loop(scenario())


def test_a_host_that_never_accepts_is_left_at_the_deadline() -> None:
    async def scenario() -> None:
        async with full_backlog() as port, client_for(f"http://127.0.0.1:{port}") as client:
            with pytest.raises(BudgetExceededError) as caught:
                await post(client, budget_s=BUDGET_S)
            assert caught.value.phase is Phase.CONNECT

    in_loop(scenario())


def test_the_pool_serves_on_after_a_deadline() -> None:
    async def scenario() -> None:
        is_slow = True

        async def behave(peer: Peer) -> None:
            while True:
                await peer.request()
                if is_slow:
                    await peer.until_gone()
                await peer.send(http_answer())

        async with raw_server(behave) as server, client_for(server.url, pool_size=1) as client:
            for _ in range(3):
                with pytest.raises(BudgetExceededError):
                    await post(client, budget_s=0.05)
            is_slow = False
            for _ in range(3):
                assert (await post(client)).status == 200
            assert server.connections == 4

    in_loop(scenario())


async def resets_at_once(peer: Peer) -> None:
    peer.reset()


async def resets_before_a_byte(peer: Peer) -> None:
    await peer.request()
    peer.reset()


async def closes_before_a_byte(peer: Peer) -> None:
    await peer.request()


async def resets_amid_the_body(peer: Peer) -> None:
    await peer.request()
    await peer.send(HEAD + b"x" * 10)
    peer.reset()


async def closes_amid_the_body(peer: Peer) -> None:
    await peer.request()
    await peer.send(HEAD + b"x" * 10)


@pytest.mark.parametrize(
    ("behaviour", "has_response"),
    [
        (resets_at_once, False),
        (resets_before_a_byte, False),
        (closes_before_a_byte, False),
        (closes_amid_the_body, True),
    ],
)
def test_a_lost_connection_says_whether_an_answer_had_begun(behaviour, has_response) -> None:
    async def scenario() -> None:
        async with raw_server(behaviour) as server, client_for(server.url) as client:
            with pytest.raises(TransportError) as caught:
                await post(client)
            assert caught.value.has_response is has_response

    in_loop(scenario())


def test_a_reset_amid_the_body_is_a_lost_connection() -> None:
    # Whether the bytes before a reset are seen is up to the kernel, so `has_response` is not looked at.
    async def scenario() -> None:
        async with raw_server(resets_amid_the_body) as server, client_for(server.url) as client:
            with pytest.raises(TransportError):
                await post(client)

    in_loop(scenario())


def test_a_refused_connection_is_known_to_be_unsent() -> None:
    async def scenario() -> None:
        async with client_for(f"http://127.0.0.1:{refused_port()}") as client:
            with pytest.raises(TransportError, match="refused") as caught:
                await post(client)
            assert caught.value.is_unsent
            assert not caught.value.has_response
            assert caught.value.error_type == "connect_error"

    in_loop(scenario())


@pytest.mark.parametrize("end", ["close", "reset"])
def test_a_stale_connection_fails_before_any_byte_of_an_answer(end: str) -> None:
    """A server may close an idle connection just as the next request comes: worth one more attempt."""

    async def scenario() -> None:
        async def answer_once(peer: Peer) -> None:
            await peer.request()
            await peer.send(http_answer())
            await peer.request()
            if end == "reset":
                peer.reset()

        async with raw_server(answer_once) as server, client_for(server.url) as client:
            await post(client)
            with pytest.raises(TransportError) as caught:
                await post(client)
            assert not caught.value.has_response
            assert not caught.value.is_unsent
            assert server.connections == 1

    in_loop(scenario())


def test_a_connection_known_to_be_closed_is_replaced() -> None:
    async def scenario() -> None:
        async def answer_once(peer: Peer) -> None:
            await peer.request()
            await peer.send(http_answer())

        async with raw_server(answer_once) as server, client_for(server.url) as client:
            for count in range(1, 4):
                assert (await post(client)).status == 200
                await server.until(lambda s: s.open == 0)
                await turns()
                assert server.connections == count

    in_loop(scenario())


def test_a_declared_huge_body_is_refused_before_it_is_read() -> None:
    async def scenario() -> None:
        answer = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"
        async with raw_server(answering(answer)) as server, client_for(server.url) as client:
            with pytest.raises(ResponseFormatError, match="max_response_bytes"):
                await post(client)
            await server.until(lambda s: s.open == 0)

    in_loop(scenario())


def test_a_huge_head_is_refused() -> None:
    async def scenario() -> None:
        async def behave(peer: Peer) -> None:
            await peer.request()
            await peer.send(b"HTTP/1.1 200 OK\r\n")
            while True:
                await peer.send(b"x-filler: " + b"x" * 10_000 + b"\r\n")

        async with raw_server(behave) as server, client_for(server.url) as client:
            with pytest.raises(TransportError):
                await post(client)
            await server.until(lambda s: s.open == 0)

    in_loop(scenario())
