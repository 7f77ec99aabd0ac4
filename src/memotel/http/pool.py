"""The transport of our own: httpx's interface over the connections of httpcore (or its fork), over our network.

`httpx.AsyncHTTPTransport` takes no network backend, so this is the same thing again in its few lines. httpcore's
exceptions pass as they are: `memotel.http.errors` maps both libraries'.
"""

from collections.abc import AsyncIterator
from types import ModuleType

import httpcore
import httpx

from memotel.config import NetworkPolicy
from memotel.http.connections import ConnectionStack
from memotel.http.network import DeadlineBackend
from memotel.http.parking import ParkingBackend
from memotel.http.proxies import Proxy
from memotel.http.resolver import Resolver
from memotel.http.routes import Route
from memotel.http.tunnel import TunnelBackend

CLOSE_GRACE_S = 0.5


class PoolTransport(httpx.AsyncBaseTransport):
    """One client's connections: HTTP/1.1 only, kept alive, never waited for.

    There is no bound here, so nobody ever waits inside httpcore; the client that sends through it bounds the requests
    in flight, and with them the connections. Plain http through a proxy is httpcore's own proxy pool.
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
        self._keepalive_s = policy.keepalive_s
        self._route = route
        self._network = DeadlineBackend(resolver, core)
        proxy = route.proxy
        if proxy is not None and route.is_tls:
            tunnel = TunnelBackend(self._network, proxy, route.context, user_agent)
            self._parking = ParkingBackend(tunnel, policy.keepalive_s)
        else:
            self._parking = ParkingBackend(self._network, policy.keepalive_s)
        self._pool: ConnectionStack | httpcore.AsyncConnectionPool = (
            self._direct() if proxy is None or route.is_tls else self._forwarding(proxy)
        )

    def _direct(self) -> ConnectionStack:
        return ConnectionStack(
            self._core,
            context=self._route.context,
            keepalive_s=self._keepalive_s,
            network=self._parking,
        )

    def _forwarding(self, proxy: Proxy) -> httpcore.AsyncConnectionPool:
        headers = [("Proxy-Authorization", proxy.authorization)] if proxy.authorization else []
        pool: httpcore.AsyncConnectionPool = self._core.AsyncHTTPProxy(
            proxy_url=self._core.URL(proxy.url),
            proxy_headers=headers,
            proxy_ssl_context=self._route.context if proxy.scheme == "https" else None,
            max_connections=None,
            keepalive_expiry=self._keepalive_s,
            network_backend=self._parking,
        )
        return pool

    async def warm(self) -> None:
        """Open a connection for the first request, unless there is one."""
        route = self._route
        host, port, context = route.address, route.port, route.context
        if route.proxy is not None and not route.is_tls:
            host, port = route.proxy.host, route.proxy.port
        if not (self._pool.connections or self._parking.is_taken(host, port)):
            await self._parking.park(host, port, context)

    @property
    def connections(self) -> int:
        """How many connections the pool holds, in use or idle."""
        return len(self._pool.connections)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; the body is read from the response's stream."""
        url = request.url
        response = await self._pool.handle_async_request(
            self._core.Request(
                method=request.method,
                url=self._core.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_Body(response),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close every connection, politely for half a second."""
        await self._pool.aclose()
        await self._network.aclose(CLOSE_GRACE_S)


class _Body(httpx.AsyncByteStream):
    """The body of one answer; closing it before its end closes the connection."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.aiter_stream():
            yield chunk

    async def aclose(self) -> None:
        await self._response.aclose()
