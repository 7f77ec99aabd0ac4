import asyncio

import pytest
from http_calls import Where, client_for, in_loop, post
from raw_server import Peer, Received, answering, black_hole, http_answer, raw_server

from memotel.config import NetworkPolicy
from memotel.deadline import Deadline
from memotel.errors import (
    BudgetExceededError,
    ConfigurationError,
    ResponseFormatError,
    TransportError,
)
from memotel.http import HttpClient, HttpRequest
from memotel.outcomes import Phase

pytestmark = pytest.mark.usefixtures("any_ground")


def test_send_returns_status_headers_and_body() -> None:
    async def scenario() -> None:
        answer = http_answer(
            b'{"context": ""}', status="201 Created", headers="X-Request-ID: req-7\r\n"
        )
        async with raw_server(answering(answer)) as server, client_for(server.url) as client:
            response = await post(client)
        assert response.status == 201
        assert response.body == b'{"context": ""}'
        assert response.request_id == "req-7"
        assert all(name == name.lower() for name in response.headers)

    in_loop(scenario())


def test_send_writes_the_request_as_given() -> None:
    async def scenario() -> None:
        received: list[Received] = []
        async with (
            raw_server(answering(http_answer(), received)) as server,
            client_for(server.url + "/api/", headers={"X-Project": "p1"}) as client,
        ):
            await client.send(
                HttpRequest("POST", "/v1/x", "/v1/x", b'{"a": 1}', (("Idempotency-Key", "k1"),)),
                headers=(("Authorization", "Bearer rk_1"),),
                deadline=Deadline.after(20),
                progress=Where(),
            )
            await post(client, None, path="/v1/memory/t%2F1/u/list?limit=5")
        post_request, get_request = received
        assert post_request.line == "POST /api/v1/x HTTP/1.1"
        assert post_request.body == b'{"a": 1}'
        assert post_request.headers["authorization"] == "Bearer rk_1"
        assert post_request.headers["idempotency-key"] == "k1"
        assert post_request.headers["x-project"] == "p1"
        assert post_request.headers["content-type"] == "application/json"
        assert post_request.headers["accept-encoding"] == "identity"
        assert post_request.headers["host"] == f"127.0.0.1:{server.port}"
        assert post_request.headers["user-agent"].startswith("memotel/")
        assert get_request.line == "GET /api/v1/memory/t%2F1/u/list?limit=5 HTTP/1.1"
        assert "content-length" not in get_request.headers

    in_loop(scenario())


def test_policy_headers_win_over_those_of_the_request() -> None:
    async def scenario() -> None:
        received: list[Received] = []
        async with (
            raw_server(answering(http_answer(), received)) as server,
            client_for(server.url, headers={"User-Agent": "mine/1"}) as client,
        ):
            await post(client, headers=(("user-agent", "other"),))
        assert received[0].headers["user-agent"] == "mine/1"

    in_loop(scenario())


def test_connections_are_kept_alive() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server, client_for(server.url) as client:
            for _ in range(5):
                await post(client)
            assert server.connections == 1

    in_loop(scenario())


def test_an_idle_connection_past_its_keepalive_is_not_used_again() -> None:
    async def scenario() -> None:
        async with (
            raw_server(answering(http_answer())) as server,
            client_for(server.url, keepalive_s=1e-6) as client,
        ):
            await post(client)
            await post(client)
            assert server.connections == 2

    in_loop(scenario())


def test_a_redirect_is_returned_and_not_followed() -> None:
    async def scenario() -> None:
        answer = http_answer(b"", status="302 Found", headers="location: http://127.0.0.1:1/\r\n")
        async with raw_server(answering(answer)) as server, client_for(server.url) as client:
            response = await post(client)
            assert response.status == 302
            assert server.connections == 1

    in_loop(scenario())


def test_a_chunked_answer_is_put_together() -> None:
    async def scenario() -> None:
        answer = (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
            b'4\r\n{"a"\r\n4\r\n: 1}\r\n0\r\n\r\n'
        )
        async with raw_server(answering(answer)) as server, client_for(server.url) as client:
            assert (await post(client)).body == b'{"a": 1}'
            assert (await post(client)).body == b'{"a": 1}'
            assert server.connections == 1

    in_loop(scenario())


def test_a_body_larger_than_the_network_takes_at_once_arrives_whole() -> None:
    async def scenario() -> None:
        received: list[Received] = []
        body = b"x" * 1_500_000
        async with (
            raw_server(answering(http_answer(body[::-1]), received)) as server,
            client_for(server.url) as client,
        ):
            response = await post(client, body)
        assert received[0].body == body
        assert response.body == body

    in_loop(scenario())


def test_a_body_of_exactly_the_bound_passes_and_one_byte_more_does_not() -> None:
    async def scenario() -> None:
        async with (
            raw_server(answering(http_answer(b"x" * 1000))) as server,
            client_for(server.url, max_response_bytes=1000) as enough,
            client_for(server.url, max_response_bytes=999) as too_little,
        ):
            assert len((await post(enough)).body) == 1000
            with pytest.raises(ResponseFormatError, match="max_response_bytes"):
                await post(too_little)

    in_loop(scenario())


def test_an_endless_body_is_cut_at_the_bound_and_its_connection_closed() -> None:
    async def scenario() -> None:
        async def endless(peer: Peer) -> None:
            await peer.request()
            await peer.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            while True:
                await peer.send(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")

        async with (
            raw_server(endless) as server,
            client_for(server.url, max_response_bytes=100_000) as client,
        ):
            with pytest.raises(ResponseFormatError, match="max_response_bytes"):
                await post(client)
            await server.until(lambda s: s.open == 0)

    in_loop(scenario())


def test_a_compressed_answer_is_refused() -> None:
    async def scenario() -> None:
        answer = http_answer(b"\x1f\x8b", headers="content-encoding: gzip\r\n")
        async with raw_server(answering(answer)) as server, client_for(server.url) as client:
            with pytest.raises(ResponseFormatError, match="compressed"):
                await post(client)

    in_loop(scenario())


def test_an_answer_that_is_not_http_is_a_protocol_error_that_does_not_quote_it() -> None:
    async def scenario() -> None:
        async with (
            raw_server(answering(b"secret words of a user\r\n\r\n")) as server,
            client_for(server.url) as client,
        ):
            with pytest.raises(TransportError) as caught:
                await post(client)
        error = caught.value
        assert error.error_type == "protocol_error"
        assert error.has_response
        assert "secret" not in str(error)
        assert error.__cause__ is None
        assert error.__context__ is None

    in_loop(scenario())


def test_a_key_with_a_line_break_is_refused_without_showing_it() -> None:
    async def scenario() -> None:
        async with raw_server(black_hole) as server, client_for(server.url) as client:
            with pytest.raises(ConfigurationError) as caught:
                await post(client, headers=(("Authorization", "Bearer rk_secret\nx: y"),))
        assert "rk_secret" not in str(caught.value)
        assert caught.value.__context__ is None

    in_loop(scenario())


def test_requests_beyond_the_pool_wait_no_longer_than_their_deadline() -> None:
    async def scenario() -> None:
        async with raw_server(black_hole) as server, client_for(server.url, pool_size=1) as client:
            first = asyncio.ensure_future(post(client, budget_s=0.3))
            await server.until(lambda s: s.connections == 1)
            where = Where()
            with pytest.raises(BudgetExceededError) as caught:
                await post(client, budget_s=0.05, where=where)
            assert caught.value.phase is Phase.QUEUE
            assert server.connections == 1
            with pytest.raises(BudgetExceededError):
                await first

    in_loop(scenario())


def test_a_deadline_that_has_passed_sends_nothing() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server, client_for(server.url) as client:
            with pytest.raises(BudgetExceededError):
                await post(client, budget_s=-1)
            await post(client)
            with pytest.raises(BudgetExceededError):
                await post(client, budget_s=-1)
            assert server.connections == 1

    in_loop(scenario())


def test_the_constructor_opens_and_builds_nothing() -> None:
    client = HttpClient(
        "https://memory.invalid/base", NetworkPolicy(cert="/no/such/file"), pool_size=8
    )
    assert (client.address, client.port) == ("memory.invalid", 443)


def test_a_closed_client_refuses_and_closes_twice() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server, client_for(server.url) as client:
            await post(client)
            await client.aclose()
            await client.aclose()
            with pytest.raises(TransportError, match="closed") as caught:
                await post(client)
            assert caught.value.is_unsent
            await server.until(lambda s: s.open == 0)

    in_loop(scenario())


def test_closing_ends_the_requests_in_flight() -> None:
    async def scenario() -> None:
        async with raw_server(black_hole) as server, client_for(server.url) as client:
            first = asyncio.ensure_future(post(client))
            await server.until(lambda s: s.connections == 1)
            await client.aclose()
            with pytest.raises(TransportError):
                await first

    in_loop(scenario())
