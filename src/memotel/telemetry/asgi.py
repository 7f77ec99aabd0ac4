"""An ASGI application that serves a Prometheus registry, to mount in a web application."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from prometheus_client import REGISTRY, CollectorRegistry

from memotel.telemetry.serving import application

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def serve(registry: CollectorRegistry = REGISTRY) -> App:
    """Return an application that answers every path with the metrics of `registry`.

    Collection runs on a worker thread: thousands of series take longer than an event loop may be held up.
    """
    wsgi = application(registry)

    def answer(environ: dict[str, str]) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]]) -> None:
            started.append((status, headers))

        body = b"".join(wsgi(environ, start_response))
        status, headers = started[0]
        return int(status.split()[0]), [(k.lower().encode(), v.encode()) for k, v in headers], body

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"the metrics application serves http, not {scope['type']}")
        status, headers, body = await asyncio.to_thread(answer, _environ(scope))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


def _environ(scope: Scope) -> dict[str, str]:
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return {
        "REQUEST_METHOD": scope["method"],
        "PATH_INFO": scope["path"],
        "QUERY_STRING": scope.get("query_string", b"").decode("latin-1"),
        "HTTP_ACCEPT": ",".join(headers.get("accept", [])),
        "HTTP_ACCEPT_ENCODING": ",".join(headers.get("accept-encoding", [])),
    }
