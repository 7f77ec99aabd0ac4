"""The metrics over HTTP: what is asked for is settled as prometheus_client does it, the text is written by `rendering`."""

import gzip
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer, choose_encoder, gzip_accepted

from memotel.telemetry.rendering import render

Environ = dict[str, Any]
StartResponse = Callable[[str, list[tuple[str, str]]], object]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

_OPENMETRICS = "application/openmetrics-text"
_ESCAPED = ("escaping=dots", "escaping=values")
"""Spellings of names that nobody but prometheus_client writes here."""


def application(registry: CollectorRegistry) -> Application:
    """Return a WSGI application that answers a plain GET itself and leaves everything else to prometheus_client."""
    other: Application = make_wsgi_app(registry)

    def answer(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        _, content_type = choose_encoder(environ.get("HTTP_ACCEPT") or "")
        if not _is_plain(environ) or content_type.endswith(_ESCAPED):
            return other(environ, start_response)
        body = render(registry, is_openmetrics=content_type.startswith(_OPENMETRICS))
        headers = [("Content-Type", content_type)]
        if gzip_accepted(environ.get("HTTP_ACCEPT_ENCODING") or ""):
            body = gzip.compress(body)
            headers.append(("Content-Encoding", "gzip"))
        start_response("200 OK", headers)
        return [body]

    return answer


def _is_plain(environ: Environ) -> bool:
    """Whether all metrics are asked for; a query may pick some by name."""
    is_icon = environ.get("PATH_INFO") == "/favicon.ico"
    return environ["REQUEST_METHOD"] == "GET" and not environ.get("QUERY_STRING") and not is_icon


class _Quiet(WSGIRequestHandler):
    """Serves without a line in the log for each scrape."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def start_server(host: str, port: int, registry: CollectorRegistry) -> WSGIServer:
    """Listen there and serve on a daemon thread, IPv4 or IPv6 as the host has it; port 0 takes a free one.

    Raises `OSError` where it cannot be bound.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, *_, address = found[0]
    kind: type[WSGIServer] = type("Server", (ThreadingWSGIServer,), {"address_family": family})
    server: WSGIServer = make_server(
        str(address[0]), port, application(registry), server_class=kind, handler_class=_Quiet
    )
    threading.Thread(target=server.serve_forever, name="memotel-metrics", daemon=True).start()
    return server
