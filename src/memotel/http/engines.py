"""What carries a client's requests, chosen by its policy and by what is installed, made at the first request."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from urllib.parse import urlsplit

import httpx

from memotel.config import NetworkPolicy
from memotel.errors import BudgetExceededError, ConfigurationError
from memotel.http.carriers import Carrier, ForeignCarrier, PoolCarrier
from memotel.http.exchange import Exchange
from memotel.http.fast import FastCarrier, fast_transport
from memotel.http.pool import PoolTransport
from memotel.http.proxies import Proxy, choose_proxy
from memotel.http.resolver import Resolver
from memotel.http.tls import context_flight
from memotel.http.waiting import flight_result
from memotel.outcomes import Phase


@dataclass(frozen=True, slots=True)
class Route:
    """How a service is reached: directly or through a proxy, in TLS or not."""

    is_tls: bool
    proxy: Proxy | None
    context: ssl.SSLContext | None


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the carrier of one client.

    Attributes:
        base_url: the service.
        policy: how to reach it.
        resolver: who resolves names.
        where: the service's name in messages.
        user_agent: what we call ourselves to a proxy.
    """

    base_url: str
    policy: NetworkPolicy
    resolver: Resolver
    where: str
    user_agent: str

    async def route(self, environ: Mapping[str, str], exchange: Exchange) -> Route:
        """Find the way; the TLS setting is read on a thread, for as long as the deadline allows."""
        is_tls = urlsplit(self.base_url).scheme == "https"
        if self.policy.transport is not None:
            return Route(is_tls, None, None)
        proxy = choose_proxy(self.base_url, self.policy.proxy, environ)
        if not is_tls and (proxy is None or proxy.scheme == "http"):
            return Route(is_tls, proxy, None)
        exchange.progress.phase = Phase.TLS
        try:
            context = await flight_result(
                context_flight(self.policy, environ), exchange.deadline.remaining_s()
            )
        except TimeoutError:
            raise BudgetExceededError(
                "the CA files were not read in time", phase=Phase.TLS
            ) from None
        return Route(is_tls, proxy, context)

    def carrier(self, route: Route) -> Carrier:
        """Return a new carrier, which opens nothing yet."""
        own = self.policy.transport
        if own is not None:
            return _foreign(own, self.where)
        engine = engine_of(self.policy, route)
        try:
            if engine == "aiohttp":
                transport = fast_transport(self.policy, self.resolver, route.context)
                return FastCarrier(transport, self.where)
            return self._pooled(route, engine)
        except ImportError:
            package = "memotel[fast]" if engine == "aiohttp" else engine
            raise ConfigurationError(
                f"engine is {engine!r}, which is not installed: pip install {package}"
            ) from None

    def _pooled(self, route: Route, engine: str) -> Carrier:
        transport = PoolTransport(
            self.policy,
            resolver=self.resolver,
            context=route.context,
            proxy=route.proxy,
            is_tls=route.is_tls,
            user_agent=self.user_agent,
            core=import_module(engine),
        )
        return PoolCarrier(transport, self.where)


def _foreign(transport: object, where: str) -> Carrier:
    if not isinstance(transport, httpx.AsyncBaseTransport):
        raise ConfigurationError("transport must be an httpx.AsyncBaseTransport")
    return ForeignCarrier(transport, where)


def engine_of(policy: NetworkPolicy, route: Route) -> str:
    """Return the engine for a route.

    "auto" is aiohttp where the extra `fast` is installed, else httpcore. Through a proxy aiohttp gives way to
    httpcore, whose tunnels are ours and as bounded as the rest.
    """
    engine: str = policy.engine
    if engine == "auto":
        engine = "aiohttp" if find_spec("httpx_aiohttp") is not None else "httpcore"
    return "httpcore" if engine == "aiohttp" and route.proxy is not None else engine
