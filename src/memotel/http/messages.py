"""One request and one response, as backends speak of them: no httpx types, bodies already in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request of a backend.

    Attributes:
        method: "GET" or "POST".
        path: path and query, percent-encoded, starting with "/".
        template: the path with `{user}` and `{tenant}` in place of the real parts; safe to show.
        body: JSON as UTF-8, or None.
        headers: headers of this request beside those of the account (authorization, project).
    """

    method: str
    path: str
    template: str
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def with_headers(self, headers: tuple[tuple[str, str], ...]) -> "HttpRequest":
        """Return this request with `headers` added."""
        if not headers:
            return self
        # Every request passes here twice, and `dataclasses.replace` costs three times as much.
        return HttpRequest(self.method, self.path, self.template, self.body, self.headers + headers)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One answer, whole. `headers` has lower-case names; `body` is at most the client's bound."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def request_id(self) -> str | None:
        """The service's own id of this request."""
        return self.headers.get("x-request-id")
