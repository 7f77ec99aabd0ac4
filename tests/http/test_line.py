"""One connection: what it sends, when it may be used again, and that it gives the loop away only to wait."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import httpcore
import pytest
from http_calls import BOUND, in_loop, outgoing_to
from raw_server import Peer, answering, http_answer, raw_server

from memotel.errors import ResponseFormatError
from memotel.http.bodies import Bound
from memotel.http.line import Line
from memotel.http.network import DeadlineBackend
from memotel.http.resolver import Resolver
from memotel.http.routes import direct_route


def line_to(url: str) -> Line:
    network = DeadlineBackend(Resolver(), httpcore)
    return Line(direct_route(url), network, keepalive_s=30.0)


async def fetch(line: Line, url: str) -> bytes:
    return (await line.exchange(outgoing_to(url), BOUND)).body


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
        answer = asyncio.Event()

        async def slow(peer: Peer) -> None:
            await peer.request()
            await answer.wait()
            await peer.send(http_answer())
            await peer.request()
            await peer.send(http_answer())

        async with raw_server(slow) as server:
            line = line_to(server.url)
            first = asyncio.ensure_future(fetch(line, server.url))
            await server.until(lambda served: served.open == 1)
            assert not line.is_idle()
            with pytest.raises(httpcore.ConnectionNotAvailable):
                await fetch(line, server.url)
            answer.set()
            assert await first
            assert line.can_be_used()
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


def test_answer_that_is_not_taken_closes_the_connection() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer(b"x" * 2000))) as server:
            line = line_to(server.url)
            with pytest.raises(ResponseFormatError):
                await line.exchange(outgoing_to(server.url), Bound(1000, "memory.test"))
            assert line.is_closed()

    in_loop(scenario())


def test_peer_that_leaves_without_an_answer_is_a_protocol_error_of_its() -> None:
    async def leave(peer: Peer) -> None:
        await peer.request()

    async def scenario() -> None:
        async with raw_server(leave) as server:
            line = line_to(server.url)
            with pytest.raises(httpcore.RemoteProtocolError):
                await fetch(line, server.url)
            assert line.is_closed()

    in_loop(scenario())


def test_request_gives_the_loop_away_less_often_than_httpcores_own() -> None:
    async def least(get: Callable[[], Coroutine[Any, Any, object]]) -> int:
        await get()
        return min([await rounds_of(get()) for _ in range(20)])

    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server:
            network = DeadlineBackend(Resolver(), httpcore)
            origin = httpcore.URL(server.url).origin
            line = line_to(server.url)
            theirs = httpcore.AsyncHTTPConnection(origin, network_backend=network)

            async def through_theirs() -> None:
                request = outgoing_to(server.url).as_httpcore()
                response = await theirs.handle_async_request(request)
                await response.aread()
                await response.aclose()

            assert await least(lambda: fetch(line, server.url)) < await least(through_theirs)
            await line.aclose()
            await theirs.aclose()

    in_loop(scenario())
