"""The stack of connections: one request at a time each, the latest used first, none kept that cannot be used."""

import asyncio

import httpcore
import pytest
from http_calls import BOUND, in_loop, outgoing_to
from raw_server import answering, black_hole, http_answer, raw_server

from memotel.errors import ResponseFormatError
from memotel.http.bodies import Bound
from memotel.http.connections import ConnectionStack
from memotel.http.network import DeadlineBackend
from memotel.http.resolver import Resolver
from memotel.http.routes import direct_route


def stack_to(url: str, keepalive_s: float = 30.0) -> ConnectionStack:
    network = DeadlineBackend(Resolver(), httpcore)
    return ConnectionStack(direct_route(url), network, keepalive_s=keepalive_s)


async def fetch(connections: ConnectionStack, url: str) -> int:
    return (await connections.exchange(outgoing_to(url), BOUND)).status


def test_requests_in_turn_share_one_connection() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server:
            connections = stack_to(server.url)
            for _ in range(5):
                assert await fetch(connections, server.url) == 200
                assert len(connections.connections) == 1
            await connections.aclose()

    in_loop(scenario())


def test_requests_at_once_have_a_connection_each_and_leave_them_for_the_next() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server:
            connections = stack_to(server.url)
            assert (
                await asyncio.gather(*[fetch(connections, server.url) for _ in range(20)])
                == [200] * 20
            )
            opened = len(connections.connections)
            assert opened == 20
            await asyncio.gather(*[fetch(connections, server.url) for _ in range(20)])
            assert len(connections.connections) == opened
            await connections.aclose()
            assert connections.connections == []

    in_loop(scenario())


def test_connection_that_has_been_idle_too_long_is_replaced() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server:
            connections = stack_to(server.url, keepalive_s=0.0)
            await fetch(connections, server.url)
            [first] = connections.connections
            await fetch(connections, server.url)
            assert first not in connections.connections
            assert first.is_closed()
            await connections.aclose()

    in_loop(scenario())


def test_connection_whose_answer_was_not_taken_is_not_kept() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer(b"x" * 200_000))) as server:
            connections = stack_to(server.url)
            with pytest.raises(ResponseFormatError):
                await connections.exchange(outgoing_to(server.url), Bound(100_000, "memory.test"))
            assert connections.connections == []

    in_loop(scenario())


def test_connection_that_cannot_be_opened_is_not_kept() -> None:
    async def scenario() -> None:
        connections = stack_to("http://127.0.0.1:1")
        with pytest.raises(httpcore.ConnectError):
            await fetch(connections, "http://127.0.0.1:1")
        assert connections.connections == []

    in_loop(scenario())


def test_closing_ends_a_request_in_flight_and_its_connection_is_not_kept() -> None:
    async def scenario() -> None:
        async with raw_server(black_hole) as server:
            connections = stack_to(server.url)
            request = asyncio.ensure_future(fetch(connections, server.url))
            await server.until(lambda served: served.open == 1)
            await connections.aclose()
            with pytest.raises((httpcore.NetworkError, httpcore.ProtocolError)):
                await request
            assert connections.connections == []

    in_loop(scenario())
