"""The ASGI application: mounted in a real web application, both formats, off the event loop."""

import asyncio
import gzip
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from polling import eventually
from prometheus_client import CollectorRegistry, Counter, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.routing import Mount
from telemetry_rig import Rig, hit, make_call

from memotel.telemetry import metrics_app
from memotel.telemetry.asgi import App
from memotel.telemetry.exposition import PrometheusReader


async def ask(
    app: object, *headers: tuple[bytes, bytes], method: str = "GET"
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Send one request to an ASGI application."""
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": "/metrics/",
        "root_path": "",
        "query_string": b"",
        "headers": list(headers),
    }
    await app(scope, receive, send)  # type: ignore[operator] # an ASGI application
    start, body = sent
    return int(str(start["status"])), dict(start["headers"]), bytes(body["body"])  # type: ignore[call-overload] # an ASGI message is a dict of objects


@pytest.fixture
def registry() -> CollectorRegistry:
    made = CollectorRegistry()
    Rig(readers=(PrometheusReader(made),)).run(make_call(), hit)
    return made


def test_mounted_application_serves_the_text_format(registry: CollectorRegistry) -> None:
    app = Starlette(routes=[Mount("/metrics", metrics_app(registry))])
    status, headers, body = asyncio.run(ask(app))
    assert status == 200
    assert headers[b"content-type"].startswith(b"text/plain")
    assert b"memotel_recalls_total{" in body


def test_openmetrics_is_served_where_asked_for(registry: CollectorRegistry) -> None:
    accept = (b"accept", b"application/openmetrics-text; version=1.0.0")
    _, headers, body = asyncio.run(ask(metrics_app(registry), accept))
    assert headers[b"content-type"].startswith(b"application/openmetrics-text")
    assert body.endswith(b"# EOF\n")
    assert b"# {" in body


def in_starlette(metrics: App) -> App:
    return Starlette(routes=[Mount("/metrics", metrics)])


def in_fastapi(metrics: App) -> App:
    app = FastAPI()
    app.mount("/metrics", metrics)
    return app


@pytest.mark.parametrize("mounted", [in_starlette, in_fastapi])
def test_web_application_serves_its_own_metrics_beside_ours_over_http(
    registry: CollectorRegistry, mounted: Callable[[App], App]
) -> None:
    Counter("app_orders", "Orders.", registry=registry).inc()
    app = mounted(metrics_app(registry))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        answer = httpx.get(f"http://127.0.0.1:{port}/metrics/", trust_env=False)
    finally:
        server.should_exit = True
        thread.join(timeout=30)
    assert answer.status_code == 200
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert families["app_orders"].samples[0].value == 1.0
    assert sum(sample.value for sample in families["memotel_recalls"].samples) == 1.0


def test_compression_is_used_where_accepted(registry: CollectorRegistry) -> None:
    _, headers, body = asyncio.run(ask(metrics_app(registry), (b"accept-encoding", b"gzip")))
    assert headers[b"content-encoding"] == b"gzip"
    assert b"memotel_recalls_total" in gzip.decompress(body)


def test_only_reading_is_allowed(registry: CollectorRegistry) -> None:
    status, _, _ = asyncio.run(ask(metrics_app(registry), method="POST"))
    assert status == 405


def test_other_protocols_are_refused(registry: CollectorRegistry) -> None:
    with pytest.raises(RuntimeError, match="websocket"):
        asyncio.run(metrics_app(registry)({"type": "websocket"}, None, None))  # type: ignore[arg-type] # refused before receive and send are used


def test_collection_does_not_hold_up_the_event_loop() -> None:
    class Thread(Collector):
        def collect(self) -> Iterator[Metric]:
            seen.append(threading.get_ident())
            yield from ()

    seen: list[int] = []
    registry = CollectorRegistry()
    registry.register(Thread())
    seen.clear()
    asyncio.run(ask(metrics_app(registry)))
    assert seen
    assert threading.get_ident() not in seen
