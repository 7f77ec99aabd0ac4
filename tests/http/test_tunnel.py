"""Proxies, over real connections. The service's name resolves nowhere: whoever reaches it went through the proxy."""

import base64

import pytest
from certificates import ca_file, server_context
from http_calls import Where, client_for, in_loop, post
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

from memotel.errors import BudgetExceededError, TransportError
from memotel.http.tunnel import status_of
from memotel.outcomes import Phase

pytestmark = pytest.mark.usefixtures("any_ground")

SERVICE = "https://memory.invalid"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_https_service_is_reached_through_a_tunnel(scheme: str, tmp_path) -> None:
    async def scenario() -> None:
        asked: list[Received] = []
        received: list[Received] = []
        proxy_context = server_context("127.0.0.1") if scheme == "https" else None
        async with (
            raw_server(
                answering(http_answer(), received), context=server_context("memory.invalid")
            ) as service,
            raw_server(connect_proxy(asked, port=service.port), context=proxy_context) as proxy,
            client_for(SERVICE, proxy=proxy.url, verify=ca_file(tmp_path)) as client,
        ):
            for _ in range(3):
                response = await post(client, headers=(("Authorization", "Bearer rk_1"),))
                assert response.status == 200
            assert proxy.connections == service.connections == 1
        assert [request.line for request in asked] == ["CONNECT memory.invalid:443 HTTP/1.1"]
        assert "authorization" not in asked[0].headers
        assert asked[0].headers["user-agent"].startswith("memotel/")
        assert received[0].headers["authorization"] == "Bearer rk_1"

    in_loop(scenario())


def test_an_http_service_is_reached_by_forwarding() -> None:
    async def scenario() -> None:
        received: list[Received] = []
        async with (
            raw_server(answering(http_answer(), received)) as proxy,
            client_for(
                "http://memory.invalid:9876", proxy=f"http://u:p@127.0.0.1:{proxy.port}"
            ) as client,
        ):
            assert (await post(client)).status == 200
        assert received[0].line == "POST http://memory.invalid:9876/v1/memory/recall HTTP/1.1"
        assert received[0].headers["host"] == "memory.invalid:9876"
        assert _credentials(received[0]) == "u:p"

    in_loop(scenario())


def test_the_environments_proxy_is_used_and_no_proxy_honoured(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    async def scenario() -> None:
        asked: list[Received] = []
        async with (
            raw_server(
                answering(http_answer()), context=server_context("memory.invalid")
            ) as service,
            raw_server(connect_proxy(asked, port=service.port)) as proxy,
        ):
            monkeypatch.setenv("HTTPS_PROXY", f"http://user:pass%20word@127.0.0.1:{proxy.port}")
            async with client_for(SERVICE, verify=ca_file(tmp_path)) as client:
                assert (await post(client)).status == 200
            assert _credentials(asked[0]) == "user:pass word"
            monkeypatch.setenv("NO_PROXY", ".invalid")
            async with client_for(SERVICE, verify=ca_file(tmp_path)) as client:
                with pytest.raises(TransportError) as caught:
                    await post(client)
            assert caught.value.is_unsent
            assert proxy.connections == 1

    in_loop(scenario())


def test_a_proxy_that_wants_credentials_is_named_as_the_cause() -> None:
    async def scenario() -> None:
        behaviour = connect_proxy([], port=1, status="407 Proxy Authentication Required")
        async with (
            raw_server(behaviour) as proxy,
            client_for(SERVICE, proxy=f"http://u:secret@127.0.0.1:{proxy.port}") as client,
        ):
            with pytest.raises(TransportError, match="wants credentials") as caught:
                await post(client)
            assert caught.value.is_unsent
            assert "secret" not in str(caught.value)
            await proxy.until(lambda server: server.open == 0)

    in_loop(scenario())


def test_a_forwarding_proxy_that_wants_credentials_is_named_as_the_cause() -> None:
    async def scenario() -> None:
        answer = http_answer(b"", status="407 Proxy Authentication Required")
        async with (
            raw_server(answering(answer)) as proxy,
            client_for("http://memory.invalid", proxy=proxy.url) as client,
        ):
            with pytest.raises(TransportError, match="wants credentials"):
                await post(client)

    in_loop(scenario())


async def talks_nonsense(peer: Peer) -> None:
    await peer.request()
    await peer.send(b"220 mail.example ESMTP\r\n\r\n")
    await peer.until_gone()


async def talks_for_ever(peer: Peer) -> None:
    await peer.request()
    while True:
        await peer.send(b"HTTP/1.1 200 OK\r\nx-filler: " + b"x" * 10_000 + b"\r\n")


async def hangs_up(peer: Peer) -> None:
    await peer.request()


@pytest.mark.parametrize("behaviour", [talks_nonsense, talks_for_ever, hangs_up])
def test_a_proxy_that_misbehaves_is_an_unsent_failure(behaviour) -> None:
    async def scenario() -> None:
        async with (
            raw_server(behaviour) as proxy,
            client_for(SERVICE, proxy=proxy.url) as client,
        ):
            with pytest.raises(TransportError) as caught:
                await post(client)
            assert caught.value.is_unsent
            assert not caught.value.has_response
            await proxy.until(lambda server: server.open == 0)

    in_loop(scenario())


def test_a_hanging_proxy_is_left_at_the_deadline() -> None:
    async def scenario() -> None:
        async with (
            raw_server(black_hole) as proxy,
            client_for(SERVICE, proxy=proxy.url, verify=False) as client,
        ):
            where = Where()
            with pytest.raises(BudgetExceededError):
                await post(client, budget_s=0.3, where=where)
            assert where.phase is Phase.CONNECT
            await proxy.until(lambda server: server.open == 0)

    in_loop(scenario())


def test_a_tunnel_whose_inner_handshake_hangs_leaves_nothing_behind() -> None:
    async def scenario() -> None:
        async with (
            raw_server(black_hole) as service,
            raw_server(connect_proxy([], port=service.port)) as proxy,
            client_for(SERVICE, proxy=proxy.url, verify=False) as client,
        ):
            for _ in range(3):
                with pytest.raises(BudgetExceededError) as caught:
                    await post(client, budget_s=0.2)
                assert caught.value.phase is Phase.TLS
            await proxy.until(lambda server: server.open == 0)
            assert client.connections == 0

    in_loop(scenario())


def test_a_proxy_that_is_not_there_is_an_unsent_failure() -> None:
    async def scenario() -> None:
        async with client_for(SERVICE, proxy=f"http://127.0.0.1:{refused_port()}") as client:
            with pytest.raises(TransportError, match="refused") as caught:
                await post(client)
            assert caught.value.is_unsent

    in_loop(scenario())


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"HTTP/1.1 200 Connection established\r\n\r\n", 200),
        (b"HTTP/1.0 407\r\n\r\n", 407),
        (b"HTTP/2 200 OK\r\n\r\n", 0),
        (b"HTTP/1.1 2", 0),
        (b"HTTP/1.1 abc", 0),
        (b"", 0),
    ],
)
def test_the_status_of_a_proxys_answer_is_read_strictly(answer: bytes, status: int) -> None:
    assert status_of(answer) == status


def _credentials(request: Received) -> str:
    kind, _, text = request.headers["proxy-authorization"].partition(" ")
    assert kind == "Basic"
    return base64.b64decode(text).decode()
