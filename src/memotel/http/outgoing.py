"""A request as it leaves, every header decided, and the form in which each kind of transport takes it."""

import re
from dataclasses import dataclass
from types import ModuleType

import httpcore
import httpx

from memotel.errors import ConfigurationError

Fields = tuple[tuple[bytes, bytes], ...]

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request.

    Attributes:
        method: "GET" or "POST".
        url: where to, whole.
        target: path and query as they stand in the request line.
        headers: every header in its order; names in lower case, checked by `field_of`.
        body: the body, or None.
    """

    method: str
    url: httpx.URL
    target: bytes
    headers: Fields
    body: bytes | None

    def encoded(self) -> bytes:
        """Return the request as HTTP/1.1 writes it."""
        parts = [self.method.encode("ascii"), b" ", self.target, b" HTTP/1.1\r\n"]
        for name, value in self.headers:
            parts += (name, b": ", value, b"\r\n")
        parts += (b"\r\n", self.body or b"")
        return b"".join(parts)

    def as_httpx(self) -> httpx.Request:
        """Return the request for a transport of httpx's interface."""
        return httpx.Request(
            self.method,
            self.url,
            headers=list(self.headers),
            stream=httpx.ByteStream(self.body or b""),
        )

    def as_httpcore(self, core: ModuleType = httpcore) -> httpcore.Request:
        """Return the request for a pool of `core`."""
        url = self.url
        request: httpcore.Request = core.Request(
            method=self.method,
            url=core.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=self.target
            ),
            headers=list(self.headers),
            content=self.body or b"",
        )
        return request


def field_of(name: str, value: str) -> tuple[bytes, bytes]:
    """Return a header as it is written; raises `ConfigurationError` where it cannot be."""
    try:
        field = name.lower().encode(), value.strip(" \t").encode()
    except UnicodeEncodeError:
        raise ConfigurationError(
            "a header holds text that cannot be encoded; look at headers="
        ) from None
    if field[0] == b"transfer-encoding":
        raise ConfigurationError(
            "a request goes out with its length; take Transfer-Encoding out of headers="
        )
    if not _TOKEN.fullmatch(field[0]):
        raise ConfigurationError(f"{name!r} cannot be the name of a header; look at headers=")
    if _CONTROL.search(field[1]):
        raise ConfigurationError(
            f"the header {name} must not hold line breaks or other control characters;"
            " look at the API key and headers="
        )
    return field
