"""How a service is reached: its address, whether in TLS and with which context, and through which proxy."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from memotel.config import NetworkPolicy
from memotel.errors import BudgetExceededError
from memotel.http.exchange import Exchange
from memotel.http.proxies import DEFAULT_PORTS, Proxy, choose_proxy
from memotel.http.tls import context_flight
from memotel.http.waiting import flight_result
from memotel.outcomes import Phase


@dataclass(frozen=True, slots=True)
class Route:
    """The way to one service.

    Attributes:
        address: host name of the service.
        port: its port.
        is_tls: whether it is spoken to in TLS.
        proxy: the proxy in between, if any.
        context: what is trusted, where the service or the proxy is spoken to in TLS.
    """

    address: str
    port: int
    is_tls: bool
    proxy: Proxy | None = None
    context: ssl.SSLContext | None = None


def direct_route(base_url: str) -> Route:
    """Return the way to a service as its URL says, without a context."""
    parts = urlsplit(base_url)
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    return Route(parts.hostname or "", port, parts.scheme == "https")


async def find_route(
    base_url: str, policy: NetworkPolicy, environ: Mapping[str, str], exchange: Exchange
) -> Route:
    """Return the way to a service; the TLS setting is read on a thread, for as long as the deadline allows."""
    direct = direct_route(base_url)
    proxy = choose_proxy(base_url, policy.proxy, environ)
    context = None
    if direct.is_tls or (proxy is not None and proxy.scheme == "https"):
        exchange.progress.phase = Phase.TLS
        try:
            context = await flight_result(
                context_flight(policy, environ), exchange.deadline.remaining_s()
            )
        except TimeoutError:
            raise BudgetExceededError(
                "the CA files were not read in time", phase=Phase.TLS
            ) from None
    return Route(direct.address, direct.port, direct.is_tls, proxy, context)
