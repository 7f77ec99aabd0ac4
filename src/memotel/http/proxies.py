"""Which proxy, if any, a base URL is reached through: the policy's, else the environment's, less NO_PROXY."""

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from memotel.config import LOOPBACK_HOSTS
from memotel.errors import ConfigurationError

DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy; its credentials are kept out of the repr."""

    scheme: str
    host: str
    port: int
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def authorization(self) -> str:
        """The value of its header, or empty."""
        if not self.username:
            return ""
        pair = f"{self.username}:{self.password}"
        return "Basic " + base64.b64encode(pair.encode()).decode()

    @property
    def url(self) -> str:
        """Its URL, without credentials."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def choose_proxy(base_url: str, explicit: str | None, environ: Mapping[str, str]) -> Proxy | None:
    """Return the proxy for `base_url`.

    `explicit` wins: a URL, or "" for none. Otherwise HTTPS_PROXY or HTTP_PROXY by scheme, then ALL_PROXY, lower case
    before upper; hosts that NO_PROXY names and loopback go direct. Raises `ConfigurationError` for a proxy that is
    neither http nor https.
    """
    if explicit is not None:
        return _parsed(explicit, "proxy") if explicit else None
    target = urlsplit(base_url)
    name, url = _from_environment(target.scheme, environ)
    if not url or _goes_direct(target, environ):
        return None
    return _parsed(url, name)


def _from_environment(scheme: str, environ: Mapping[str, str]) -> tuple[str, str]:
    for name in (f"{scheme}_proxy", "all_proxy"):
        for spelling in (name, name.upper()):
            # In a CGI process HTTP_PROXY is a request header of the client (httpoxy).
            if spelling == "HTTP_PROXY" and "REQUEST_METHOD" in environ:
                continue
            if environ.get(spelling, "").strip():
                return spelling, environ[spelling].strip()
    return "", ""


def _parsed(url: str, name: str) -> Proxy:
    parts = _split(url if "://" in url else f"http://{url}")
    if parts is None or parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise ConfigurationError(
            f'{name} must be an http:// or https:// URL with a host and a port; proxy="" goes direct'
        )
    return Proxy(
        parts.scheme,
        parts.hostname,
        parts.port or DEFAULT_PORTS[parts.scheme],
        unquote(parts.username or ""),
        unquote(parts.password or ""),
    )


def _split(url: str) -> SplitResult | None:
    """Return the parts of a URL, or None where it is none; urllib's own error would quote it."""
    try:
        parts = urlsplit(url)
        return parts if parts.port is None or parts.port > 0 else None
    except ValueError:
        return None


def _goes_direct(target: SplitResult, environ: Mapping[str, str]) -> bool:
    host = (target.hostname or "").rstrip(".")
    if host in LOOPBACK_HOSTS:
        return True
    port = target.port or DEFAULT_PORTS.get(target.scheme, 0)
    entries = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    return any(_names(entry.strip().lower(), host, port) for entry in entries.split(","))


def _names(entry: str, host: str, port: int) -> bool:
    """Whether a NO_PROXY entry names the host: `*`, a domain and all below it, an address, a network, each `:port`."""
    if not entry:
        return False
    if entry == "*":
        return True
    if "/" in entry:
        return _is_within(host, entry)
    name, only_port = _split_port(entry)
    if only_port is not None and only_port != port:
        return False
    domain = name.removeprefix("*").removeprefix(".")
    return host == domain or host.endswith(f".{domain}")


def _split_port(entry: str) -> tuple[str, int | None]:
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, int(rest[1:]) if rest[1:].isdecimal() else None
    if entry.count(":") == 1 and entry.rpartition(":")[2].isdecimal():
        name, _, port = entry.rpartition(":")
        return name, int(port)
    return entry, None


def _is_within(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
