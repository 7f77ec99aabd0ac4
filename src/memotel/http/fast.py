"""The extra `fast`: aiohttp under httpx's interface, with our resolver and our TLS contexts, for direct connections.

aiohttp survives cancellation, so the deadline is one timer around the whole exchange, in a task that ends with it.
Phases are coarser: the handshake counts as connecting, writing as reading.
"""

import asyncio
import socket
import ssl
from importlib import import_module
from typing import Any, TypedDict

import httpx

from memotel.config import NetworkPolicy
from memotel.http.bodies import Bound, read_whole
from memotel.http.errors import failure_of
from memotel.http.exchange import Exchange, current_exchange, enter, time_left_s
from memotel.http.messages import HttpResponse
from memotel.http.outgoing import Outgoing
from memotel.http.resolver import Resolver
from memotel.outcomes import Phase

MAX_WHOLE_BYTES = 1024 * 1024
"""Above this aiohttp warns of a body that is handed over whole."""

AFTER_S = 0.05
"""How long a look-up outlives its deadline, so that the timer around the exchange says first what happened."""


class FastCarrier:
    """Over httpx-aiohttp."""

    def __init__(self, transport: httpx.AsyncBaseTransport, where: str) -> None:
        self._transport = transport
        self._where = where

    async def carry(self, request: Outgoing, exchange: Exchange, bound: Bound) -> HttpResponse:
        """Send and read within one timer."""
        asked = request.as_httpx()
        if len(request.body or b"") <= MAX_WHOLE_BYTES:
            asked.read()  # else aiohttp sends it piece by piece, and chunks where there is no body at all
        try:
            async with asyncio.timeout(exchange.deadline.remaining_s()):
                response = await self._transport.handle_async_request(asked)
                exchange.has_response = True
                return await read_whole(response, exchange, bound)
        except TimeoutError:
            raise httpx.ReadTimeout("the deadline has passed") from None
        except Exception as error:  # noqa: BLE001 # aiohttp's own classes too, and each is raised again below
            failure = failure_of(error, self._where)
        # Where aiohttp could not read an answer, one had begun.
        exchange.has_response |= type(failure).__name__ in (
            "ClientResponseError",
            "ClientPayloadError",
        )
        raise failure

    async def warm(self) -> None:
        """Do nothing: aiohttp opens connections for requests only."""

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()

    @property
    def connections(self) -> int:
        """0: aiohttp does not say."""
        return 0


def fast_transport(
    policy: NetworkPolicy, resolver: Resolver, context: ssl.SSLContext | None
) -> httpx.AsyncBaseTransport:
    """Build the transport; raises `ImportError` where the extra is not installed."""
    aiohttp = import_module("aiohttp")
    connector = aiohttp.TCPConnector(
        limit=0,
        ssl=context or True,
        keepalive_timeout=policy.keepalive_s,
        resolver=_AiohttpResolver(resolver),
        use_dns_cache=False,
    )
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trace_configs=[_phases(aiohttp.TraceConfig())],
    )
    transport: httpx.AsyncBaseTransport = import_module("httpx_aiohttp").AiohttpTransport(
        client=session,
        verify=context or False,
        trust_env=False,
    )
    return transport


class _Found(TypedDict):
    """One address, as aiohttp wants it."""

    hostname: str
    host: str
    port: int
    family: int
    proto: int
    flags: int


class _AiohttpResolver:
    """Our resolver under aiohttp's interface: its own look-ups use the executor, and would hold up the exit."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: int = socket.AF_UNSPEC
    ) -> list[_Found]:
        """Return the addresses of `host`."""
        enter(Phase.DNS)
        left_s = time_left_s()
        addresses = await self._resolver.addresses(
            host, port, None if left_s is None else left_s + AFTER_S
        )
        enter(Phase.CONNECT)
        return [
            _Found(
                hostname=host,
                host=str(address.sockaddr[0]),
                port=port,
                family=address.family,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """Do nothing: the resolver is the process's."""


def _phases(config: Any) -> Any:
    config.on_connection_create_start.append(_connecting)
    config.on_request_headers_sent.append(_sent)
    config.freeze()
    return config


async def _connecting(*_: object) -> None:
    enter(Phase.CONNECT)


async def _sent(*_: object) -> None:
    exchange = current_exchange.get()
    if exchange is not None:
        exchange.is_sent = True
        exchange.progress.phase = Phase.READ
