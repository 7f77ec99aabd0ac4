"""The connections of our own: over the network interfaces of httpcore (or its fork), each wait ending at the deadline.

The exceptions of either pass as they are: `memotel.http.errors` maps both libraries'.
"""

from types import ModuleType

import httpcore

from memotel.config import NetworkPolicy
from memotel.http.bodies import Bound, read_stream
from memotel.http.connections import ConnectionStack
from memotel.http.exchange import Exchange
from memotel.http.messages import HttpResponse
from memotel.http.network import DeadlineBackend
from memotel.http.outgoing import Outgoing
from memotel.http.parking import ParkingBackend
from memotel.http.proxies import Proxy
from memotel.http.resolver import Resolver
from memotel.http.routes import Route
from memotel.http.tunnel import TunnelBackend

CLOSE_GRACE_S = 0.5


class Pool:
    """One client's connections: HTTP/1.1 only, kept alive, never waited for.

    There is no bound here, so nobody ever waits inside; the client that sends through it bounds the requests in
    flight, and with them the connections. Plain http through a proxy is httpcore's own proxy pool.
    """

    def __init__(
        self,
        policy: NetworkPolicy,
        route: Route,
        resolver: Resolver,
        *,
        user_agent: str,
        core: ModuleType = httpcore,
    ) -> None:
        self._core = core
        self._route = route
        self._network = DeadlineBackend(resolver, core)
        proxy = route.proxy
        if proxy is not None and route.is_tls:
            tunnel = TunnelBackend(self._network, proxy, route.context, user_agent)
            self._parking = ParkingBackend(tunnel, policy.keepalive_s)
        else:
            self._parking = ParkingBackend(self._network, policy.keepalive_s)
        self._lines = ConnectionStack(
            route, self._parking, keepalive_s=policy.keepalive_s, core=core
        )
        self._forwarding: httpcore.AsyncConnectionPool | None = None
        if proxy is not None and not route.is_tls:
            self._forwarding = self._through(proxy, policy.keepalive_s)

    def _through(self, proxy: Proxy, keepalive_s: float) -> httpcore.AsyncConnectionPool:
        headers = [("Proxy-Authorization", proxy.authorization)] if proxy.authorization else []
        pool: httpcore.AsyncConnectionPool = self._core.AsyncHTTPProxy(
            proxy_url=self._core.URL(proxy.url),
            proxy_headers=headers,
            proxy_ssl_context=self._route.context if proxy.scheme == "https" else None,
            max_connections=None,
            keepalive_expiry=keepalive_s,
            network_backend=self._parking,
        )
        return pool

    async def warm(self) -> None:
        """Open a connection for the first request, unless there is one."""
        route = self._route
        host, port, context = route.address, route.port, route.context
        if route.proxy is not None and not route.is_tls:
            host, port = route.proxy.host, route.proxy.port
        if not (self.connections or await self._parking.is_taken(host, port)):
            await self._parking.park(host, port, context)

    @property
    def connections(self) -> int:
        """How many connections are held, in use or idle."""
        forwarding = self._forwarding
        return len(self._lines.connections if forwarding is None else forwarding.connections)

    async def carry(self, request: Outgoing, exchange: Exchange, bound: Bound) -> HttpResponse:
        """Send and read in the caller's task; each wait ends at the deadline by itself."""
        if self._forwarding is None:
            return await self._lines.exchange(request, bound)
        response = await self._forwarding.handle_async_request(request.as_httpcore(self._core))
        try:
            return await read_stream(
                response.status, response.headers, response.aiter_stream(), exchange, bound
            )
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close every connection, politely for half a second."""
        await self._lines.aclose()
        if self._forwarding is not None:
            await self._forwarding.aclose()
        await self._network.aclose(CLOSE_GRACE_S)
