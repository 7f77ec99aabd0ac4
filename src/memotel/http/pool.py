"""The transport of our own: httpx's interface over the pool of httpcore (or its fork), over our network.

`httpx.AsyncHTTPTransport` takes no network backend, so this is the same thing again in its few lines. httpcore's
exceptions pass as they are: `memotel.http.errors` maps both libraries'.
"""

import ssl
from collections.abc import AsyncIterator
from types import ModuleType

import httpcore
import httpx

from memotel.config import NetworkPolicy
from memotel.http.network import DeadlineBackend
from memotel.http.proxies import Proxy
from memotel.http.resolver import Resolver
from memotel.http.tunnel import TunnelBackend

CLOSE_GRACE_S = 0.5


class PoolTransport(httpx.AsyncBaseTransport):
    """One client's connections: HTTP/1.1 only, kept alive, never waited for.

    The pool has no bound of its own, so nobody ever waits inside httpcore; the client that sends through it bounds
    the requests in flight, and with them the connections.
    """

    def __init__(
        self,
        policy: NetworkPolicy,
        *,
        resolver: Resolver,
        context: ssl.SSLContext | None,
        proxy: Proxy | None,
        is_tls: bool,
        user_agent: str,
        core: ModuleType = httpcore,
    ) -> None:
        self.network = DeadlineBackend(resolver, core)
        self._core = core
        self._policy = policy
        self._context = context
        if proxy is None:
            self._pool = self._direct(self.network)
        elif is_tls:
            self._pool = self._direct(TunnelBackend(self.network, proxy, context, user_agent))
        else:
            self._pool = self._forwarding(proxy)

    def _direct(self, network: httpcore.AsyncNetworkBackend) -> httpcore.AsyncConnectionPool:
        pool: httpcore.AsyncConnectionPool = self._core.AsyncConnectionPool(
            ssl_context=self._context,
            max_connections=None,
            keepalive_expiry=self._policy.keepalive_s,
            network_backend=network,
        )
        return pool

    def _forwarding(self, proxy: Proxy) -> httpcore.AsyncConnectionPool:
        headers = [("Proxy-Authorization", proxy.authorization)] if proxy.authorization else []
        pool: httpcore.AsyncConnectionPool = self._core.AsyncHTTPProxy(
            proxy_url=self._core.URL(
                scheme=proxy.scheme.encode(),
                host=proxy.host.encode(),
                port=proxy.port,
                target=b"/",
            ),
            proxy_headers=headers,
            proxy_ssl_context=self._context if proxy.scheme == "https" else None,
            max_connections=None,
            keepalive_expiry=self._policy.keepalive_s,
            network_backend=self.network,
        )
        return pool

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
        await self.network.aclose(CLOSE_GRACE_S)


class _Body(httpx.AsyncByteStream):
    """The body of one answer; closing it before its end closes the connection."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.aiter_stream():
            yield chunk

    async def aclose(self) -> None:
        await self._response.aclose()
