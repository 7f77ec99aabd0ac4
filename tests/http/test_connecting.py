import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from http_calls import in_loop
from raw_server import RawServer, black_hole, raw_server
from sockets import full_backlog, refused_port

from memotel.http.connecting import Address, connect

pytestmark = pytest.mark.usefixtures("any_loop")


def at(port: int) -> Address:
    return Address(socket.AF_INET, ("127.0.0.1", port))


@asynccontextmanager
async def connected(*ports: int, left_s: float = 20, stagger_s: float = 20) -> AsyncIterator[int]:
    """Connect to the first of `ports` that answers, and tell which it was."""
    wire = await connect([at(port) for port in ports], left_s, stagger_s=stagger_s)
    try:
        peer = wire.detail("peername")
        assert isinstance(peer, tuple)
        yield peer[1]
    finally:
        wire.close()
        await wire.closed


def test_the_next_address_is_tried_at_once_when_one_refuses() -> None:
    async def scenario() -> None:
        async with (
            raw_server(black_hole) as server,
            connected(refused_port(), refused_port(), server.port) as port,
        ):
            assert port == server.port

    in_loop(scenario())


def test_the_next_address_is_tried_meanwhile_when_one_keeps_silent() -> None:
    async def scenario() -> None:
        async with (
            full_backlog() as silent,
            raw_server(black_hole) as server,
            connected(silent, server.port, stagger_s=0.05) as port,
        ):
            assert port == server.port

    in_loop(scenario())


def test_only_one_of_several_connections_is_kept() -> None:
    async def scenario() -> None:
        async with (
            raw_server(black_hole) as first,
            raw_server(black_hole) as second,
            connected(first.port, second.port, stagger_s=0) as port,
        ):
            assert port in (first.port, second.port)
            await _until_one_is_open(first, second)

    in_loop(scenario())


async def _until_one_is_open(first: RawServer, second: RawServer) -> None:
    kept = first if first.open else second
    other = second if kept is first else first
    await other.until(lambda server: server.open == 0)
    assert kept.open + other.open == 1


def test_the_first_addresss_error_is_reported_when_all_fail() -> None:
    async def scenario() -> None:
        with pytest.raises(ConnectionRefusedError):
            await connect([at(refused_port()), at(refused_port())], 20)

    in_loop(scenario())


@pytest.mark.parametrize("count", [1, 3])
def test_silent_addresses_are_left_at_the_deadline(count: int) -> None:
    async def scenario() -> None:
        async with full_backlog() as silent:
            with pytest.raises(TimeoutError):
                await connect([at(silent)] * count, 0.2, stagger_s=0.05)

    in_loop(scenario())


def test_no_time_left_means_no_attempt() -> None:
    async def scenario() -> None:
        async with raw_server(black_hole) as server:
            with pytest.raises(TimeoutError):
                await connect([at(server.port)], 0)
            await asyncio.sleep(0)
            assert server.connections == 0

    in_loop(scenario())
