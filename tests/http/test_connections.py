"""The stack of connections: one request at a time each, the latest used first, none kept that cannot be used."""

import asyncio

import httpcore
from http_calls import in_loop
from raw_server import answering, http_answer, raw_server

from memotel.http.connections import ConnectionStack
from memotel.http.network import DeadlineBackend
from memotel.http.resolver import Resolver


def stack(keepalive_s: float = 30.0) -> ConnectionStack:
    network = DeadlineBackend(Resolver(), httpcore)
    return ConnectionStack(httpcore, context=None, keepalive_s=keepalive_s, network=network)


def request_to(url: str) -> httpcore.Request:
    return httpcore.Request("GET", url, headers=[("host", "memory.test")])


async def fetch(connections: ConnectionStack, url: str) -> int:
    response = await connections.handle_async_request(request_to(url))
    try:
        await response.aread()
    finally:
        await response.aclose()
    return response.status


def test_requests_in_turn_share_one_connection() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server:
            connections = stack()
            for _ in range(5):
                assert await fetch(connections, server.url) == 200
                assert len(connections.connections) == 1
            await connections.aclose()

    in_loop(scenario())


def test_requests_at_once_have_a_connection_each_and_leave_them_for_the_next() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server:
            connections = stack()
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
            connections = stack(keepalive_s=0.0)
            await fetch(connections, server.url)
            [first] = connections.connections
            await fetch(connections, server.url)
            assert first not in connections.connections
            assert first.is_closed()
            await connections.aclose()

    in_loop(scenario())


def test_connection_whose_answer_was_not_read_to_its_end_is_not_kept() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer(b"x" * 200_000))) as server:
            connections = stack()
            response = await connections.handle_async_request(request_to(server.url))
            await response.aclose()
            assert connections.connections == []
            await response.aclose()

    in_loop(scenario())


def test_connection_that_cannot_be_opened_is_not_kept() -> None:
    async def scenario() -> None:
        connections = stack()
        try:
            await fetch(connections, "http://127.0.0.1:1/")
        except httpcore.ConnectError:
            assert connections.connections == []
            return
        raise AssertionError("nobody should listen on port 1")

    in_loop(scenario())
