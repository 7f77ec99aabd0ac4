"""What carries a client's requests, chosen by its policy, made at the first request."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

import httpx

from memotel.config import NetworkPolicy
from memotel.errors import ConfigurationError
from memotel.http.carriers import Carrier, ForeignCarrier
from memotel.http.exchange import Exchange
from memotel.http.fast import FastCarrier, fast_transport
from memotel.http.pool import Pool
from memotel.http.resolver import Resolver
from memotel.http.routes import Route, direct_route, find_route


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
        """Find the way, for as long as the deadline allows; a transport of the caller's finds its own."""
        if self.policy.transport is not None:
            return direct_route(self.base_url)
        return await find_route(self.base_url, self.policy, environ, exchange)

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
                f"http_engine is {engine!r}, which is not installed: pip install {package}"
            ) from None

    def _pooled(self, route: Route, engine: str) -> Carrier:
        core = import_module(engine)
        return Pool(self.policy, route, self.resolver, user_agent=self.user_agent, core=core)


def _foreign(transport: object, where: str) -> Carrier:
    if not isinstance(transport, httpx.AsyncBaseTransport):
        raise ConfigurationError("transport must be an httpx.AsyncBaseTransport")
    return ForeignCarrier(transport, where)


def engine_of(policy: NetworkPolicy, route: Route) -> str:
    """Return the engine for a route.

    "auto" is httpcore: with uvloop below it a request costs less than half of what aiohttp takes. Through a proxy
    aiohttp gives way to httpcore, whose tunnels are ours and as bounded as the rest.
    """
    engine: str = "httpcore" if policy.engine == "auto" else policy.engine
    return "httpcore" if engine == "aiohttp" and route.proxy is not None else engine
