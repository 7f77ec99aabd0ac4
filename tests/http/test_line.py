"""One connection: what it sends, when it may be used again, and that it gives the loop away only to wait."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import httpcore
import pytest
from http_calls import in_loop
from raw_server import Peer, answering, http_answer, raw_server

from memotel.http.line import Line
from memotel.http.network import DeadlineBackend
from memotel.http.resolver import Resolver


def request_to(url: str, body: bytes = b"tea") -> httpcore.Request:
    headers = [("host", "memory.test"), ("content-length", str(len(body)))]
    return httpcore.Request("POST", url, headers=headers, content=body)


def line_to(url: str) -> Line:
    network = DeadlineBackend(Resolver(), httpcore)
    return Line(httpcore.URL(url).origin, network, context=None, keepalive_s=30.0)


async def fetch(line: Line, url: str) -> bytes:
    response = await line.handle_async_request(request_to(url))
    body = await response.aread()
    await response.aclose()
    return body


async def rounds_of(coroutine: Coroutine[Any, Any, object]) -> int:
    """Return how often the loop came round until a task for `coroutine` was done."""
    task = asyncio.ensure_future(coroutine)
    rounds = 0
    while not task.done():
        rounds += 1
        await asyncio.sleep(0)
    await task
    return rounds


def test_line_rests_between_requests_and_is_refused_while_it_is_used() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server:
            line = line_to(server.url)
            response = await line.handle_async_request(request_to(server.url))
            assert not line.is_idle()
            with pytest.raises(httpcore.ConnectionNotAvailable):
                await line.handle_async_request(request_to(server.url))
            await response.aread()
            await response.aclose()
            assert line.is_available()
            assert await fetch(line, server.url)
            assert server.connections == 1
            await line.aclose()
            assert line.is_closed()

    in_loop(scenario())


def test_bytes_behind_an_answer_are_never_taken_for_the_next() -> None:
    async def two_at_once(peer: Peer) -> None:
        await peer.request()
        await peer.send(http_answer() + http_answer(b'{"whose": "somebody else"}'))
        await peer.until_gone()

    async def scenario() -> None:
        async with raw_server(two_at_once) as server:
            line = line_to(server.url)
            assert b"somebody else" not in await fetch(line, server.url)
            assert line.is_closed()

    in_loop(scenario())


def test_answer_that_is_not_read_to_its_end_closes_the_connection() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server:
            line = line_to(server.url)
            response = await line.handle_async_request(request_to(server.url))
            await response.aclose()
            assert line.is_closed()

    in_loop(scenario())


def test_header_that_cannot_be_written_is_a_protocol_error_of_ours() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server:
            line = line_to(server.url)
            request = httpcore.Request("GET", server.url, headers=[("x-key", "a\r\nb")])
            with pytest.raises(httpcore.LocalProtocolError):
                await line.handle_async_request(request)
            assert line.is_closed()

    in_loop(scenario())


def test_peer_that_leaves_without_an_answer_is_a_protocol_error_of_its() -> None:
    async def leave(peer: Peer) -> None:
        await peer.request()

    async def scenario() -> None:
        async with raw_server(leave) as server:
            line = line_to(server.url)
            with pytest.raises(httpcore.RemoteProtocolError):
                await line.handle_async_request(request_to(server.url))
            assert line.is_closed()

    in_loop(scenario())


def test_request_gives_the_loop_away_less_often_than_httpcores_own() -> None:
    async def least(make: Callable[[], Any], url: str) -> int:
        connection = make()
        await fetch(connection, url)
        rounds = [await rounds_of(fetch(connection, url)) for _ in range(20)]
        await connection.aclose()
        return min(rounds)

    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server:
            network = DeadlineBackend(Resolver(), httpcore)
            origin = httpcore.URL(server.url).origin

            def theirs() -> httpcore.AsyncHTTPConnection:
                return httpcore.AsyncHTTPConnection(origin, network_backend=network)

            ours = await least(lambda: line_to(server.url), server.url)
            assert ours < await least(theirs, server.url)

    in_loop(scenario())
