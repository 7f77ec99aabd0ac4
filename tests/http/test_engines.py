import asyncio
import sys
import threading

import pytest
from http_calls import Where, client_for, in_loop, needed, post
from raw_server import Peer, Received, answering, http_answer, raw_server
from sockets import refused_port

from memotel.config import Engine, NetworkPolicy
from memotel.deadline import Deadline
from memotel.errors import BudgetExceededError, ConfigurationError, TransportError
from memotel.http.connecting import Address
from memotel.http.engines import engine_of
from memotel.http.proxies import Proxy
from memotel.http.resolver import Resolver, known_addresses
from memotel.http.routes import Route
from memotel.outcomes import Phase

DIRECT = Route("memory.example", 443, is_tls=True)
PROXIED = Route("memory.example", 443, True, Proxy("http", "proxy.example", 3128))


def test_auto_is_httpcore_whatever_is_installed() -> None:
    needed("httpx_aiohttp")
    assert engine_of(NetworkPolicy(), DIRECT) == "httpcore"


@pytest.mark.parametrize("engine", ["httpcore", "httpcore2", "aiohttp"])
def test_an_engine_that_is_named_is_taken(engine: Engine) -> None:
    assert engine_of(NetworkPolicy(engine=engine), DIRECT) == engine


def test_a_proxy_is_never_left_to_aiohttp() -> None:
    assert engine_of(NetworkPolicy(engine="aiohttp"), PROXIED) == "httpcore"
    assert engine_of(NetworkPolicy(engine="httpcore2"), PROXIED) == "httpcore2"


@pytest.mark.parametrize(
    ("engine", "package"), [("aiohttp", r"memotel\[fast\]"), ("httpcore2", "httpcore2")]
)
def test_an_engine_that_is_not_installed_is_named_with_its_package(
    engine: Engine, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        for module in ("aiohttp", "httpx_aiohttp", "httpcore2"):
            monkeypatch.setitem(sys.modules, module, None)
        async with client_for("http://127.0.0.1:1", engine=engine) as client:
            with pytest.raises(ConfigurationError, match=package):
                await post(client)

    in_loop(scenario())


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="one of auto, httpcore, httpcore2, aiohttp"):
        NetworkPolicy(engine="curl")  # type: ignore[arg-type] # the mistake under test


def test_aiohttp_resolves_with_our_resolver(any_engine: str) -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server:
            resolver = Resolver(lambda host, port: here(server.port))
            async with client_for(
                f"http://memory.invalid:{server.port}", resolver=resolver
            ) as client:
                assert (await post(client)).status == 200

    in_loop(scenario())


def here(port: int) -> tuple[Address, ...]:
    return known_addresses("127.0.0.1", port)


def test_a_hung_look_up_is_left_at_the_deadline_on_each_engine(any_engine: str) -> None:
    async def scenario() -> None:
        gate = threading.Event()

        def hangs(host: str, port: int) -> tuple[Address, ...]:
            assert gate.wait(30)
            return here(port)

        async with client_for("http://memory.invalid:1", resolver=Resolver(hangs)) as client:
            where = Where()
            with pytest.raises(BudgetExceededError) as caught:
                await post(client, budget_s=0.1, where=where)
            assert caught.value.phase is Phase.DNS
            gate.set()

    in_loop(scenario())


def test_aiohttp_keeps_no_cookies(any_engine: str) -> None:
    async def scenario() -> None:
        received: list[Received] = []
        answer = http_answer(headers="set-cookie: a=b; path=/\r\n")
        async with (
            raw_server(answering(answer, received)) as server,
            client_for(server.url) as client,
        ):
            for _ in range(2):
                await post(client)
        assert len(received) == 2
        assert not any("cookie" in request.headers for request in received)

    in_loop(scenario())


def test_a_lost_connection_after_sending_is_never_called_unsent(any_engine: str) -> None:
    """httpx-aiohttp reports it as a `ConnectTimeout`: a second send on that word would be a second write."""

    async def scenario() -> None:
        async def hangs_up(peer: Peer) -> None:
            await peer.request()

        async with raw_server(hangs_up) as server, client_for(server.url) as client:
            with pytest.raises(TransportError) as caught:
                await post(client)
            assert not caught.value.is_unsent

    in_loop(scenario())


def test_a_refused_connection_is_unsent_on_each_engine(any_engine: str) -> None:
    async def scenario() -> None:
        async with client_for(f"http://127.0.0.1:{refused_port()}") as client:
            with pytest.raises(TransportError, match="refused") as caught:
                await post(client)
            assert caught.value.is_unsent

    in_loop(scenario())


def test_two_first_requests_at_once_make_one_carrier(any_engine: str) -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server, client_for(server.url) as client:
            warming = [client.warm(Deadline.after(20), Where()) for _ in range(3)]
            await asyncio.gather(*warming, post(client), post(client))
            assert server.connections <= 3

    in_loop(scenario())
