import pytest
from certificates import ca_file, server_context
from http_calls import Where, client_for, in_loop, post, turns
from raw_server import (
    Peer,
    Received,
    answering,
    black_hole,
    connect_proxy,
    http_answer,
    raw_server,
)
from sockets import refused_port

from memotel.deadline import Deadline
from memotel.errors import BudgetExceededError, TransportError
from memotel.http import HttpClient
from memotel.outcomes import Phase

pytestmark = pytest.mark.usefixtures("any_loop")


async def warm(client: HttpClient, budget_s: float = 20) -> Where:
    where = Where()
    await client.warm(Deadline.after(budget_s), where)
    return where


@pytest.mark.parametrize("is_tls", [False, True], ids=["http", "https"])
def test_the_first_request_after_warming_finds_a_connection(is_tls: bool, tmp_path) -> None:
    async def scenario() -> None:
        received: list[Received] = []
        context = server_context("127.0.0.1") if is_tls else None
        async with (
            raw_server(answering(http_answer(), received), context=context) as server,
            client_for(server.url, verify=ca_file(tmp_path)) as client,
        ):
            where = await warm(client)
            assert where.phase is (Phase.TLS if is_tls else Phase.CONNECT)
            await warm(client)
            await server.until(lambda s: s.connections == 1)
            assert received == []
            for _ in range(2):
                assert (await post(client)).status == 200
            await warm(client)
            assert server.connections == 1

    in_loop(scenario())


def test_a_tunnel_is_warmed_too(tmp_path) -> None:
    async def scenario() -> None:
        asked: list[Received] = []
        async with (
            raw_server(
                answering(http_answer()), context=server_context("memory.invalid")
            ) as service,
            raw_server(connect_proxy(asked, port=service.port)) as proxy,
            client_for(
                "https://memory.invalid", proxy=proxy.url, verify=ca_file(tmp_path)
            ) as client,
        ):
            await warm(client)
            assert len(asked) == 1
            assert (await post(client)).status == 200
            assert len(asked) == 1

    in_loop(scenario())


def test_a_forwarding_proxy_is_warmed_too() -> None:
    async def scenario() -> None:
        async with (
            raw_server(answering(http_answer())) as proxy,
            client_for("http://memory.invalid", proxy=proxy.url) as client,
        ):
            await warm(client)
            assert (await post(client)).status == 200
            assert proxy.connections == 1

    in_loop(scenario())


def test_a_warm_connection_that_the_peer_closed_is_not_used() -> None:
    async def scenario() -> None:
        is_first = True

        async def closes_the_first(peer: Peer) -> None:
            nonlocal is_first
            was_first, is_first = is_first, False
            if not was_first:
                await answering(http_answer())(peer)

        async with raw_server(closes_the_first) as server, client_for(server.url) as client:
            await warm(client)
            await server.until(lambda s: (s.connections, s.open) == (1, 0))
            await turns()
            await warm(client)
            assert (await post(client)).status == 200

    in_loop(scenario())


def test_a_warm_connection_past_its_keepalive_is_not_used() -> None:
    async def scenario() -> None:
        async with (
            raw_server(answering(http_answer())) as server,
            client_for(server.url, keepalive_s=1e-6) as client,
        ):
            await warm(client)
            assert (await post(client)).status == 200
            assert server.connections == 2

    in_loop(scenario())


def test_warming_ends_by_its_deadline_and_says_what_failed() -> None:
    async def scenario() -> None:
        async with (
            raw_server(black_hole) as server,
            client_for(f"https://127.0.0.1:{server.port}", verify=False) as client,
            client_for(f"http://127.0.0.1:{refused_port()}") as refused,
        ):
            with pytest.raises(BudgetExceededError) as caught:
                await warm(client, 0.2)
            assert caught.value.phase is Phase.TLS
            await server.until(lambda s: s.open == 0)
            with pytest.raises(TransportError, match="refused"):
                await warm(refused)

    in_loop(scenario())


def test_closing_closes_a_warm_connection() -> None:
    async def scenario() -> None:
        async with raw_server(black_hole) as server, client_for(server.url) as client:
            await warm(client)
            await client.aclose()
            await server.until(lambda s: (s.connections, s.open) == (1, 0))
            with pytest.raises(TransportError, match="closed"):
                await warm(client)

    in_loop(scenario())
