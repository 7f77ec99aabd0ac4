"""`setup`: endpoint, variables, errors, OTLP; each in a process of its own, for providers are global."""

import os
import socket
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from telemetry_rig import run_python

from memotel.devserver import DevServer

HELPERS = """
import os, re, urllib.request
from memotel import telemetry
from memotel.errors import ConfigurationError
from memotel.telemetry.instruments import install

def scrape(port, host="127.0.0.1", accept="text/plain"):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(f"http://{host}:{port}/metrics", headers={"Accept": accept})
    with opener.open(request, timeout=5) as answer:
        return answer.read().decode()

def refused(*args, **kwargs):
    try:
        telemetry.setup(*args, **kwargs)
    except ConfigurationError as error:
        return str(error)
    return "nothing was refused"
"""


def run(script: str, **variables: str) -> list[str]:
    """Run a script after the helpers, with only these OTEL_ variables; return its lines."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    return run_python(HELPERS + textwrap.dedent(script), env=kept | variables).stdout.splitlines()


def test_setup_serves_metrics_with_exemplars_on_loopback() -> None:
    found = run(
        """
        handle = telemetry.setup(service_name="support-bot", prometheus_port=0)
        instruments = install()
        with instruments.tracer.start_as_current_span("x"):
            instruments.record_recall(0.1, ("rekall", "direct", "hit"), None)
        text = scrape(handle.port, accept="application/openmetrics-text; version=1.0.0")
        print(handle.host, handle.port > 0)
        print('service_name="support-bot"' in text, 'service_instance_id="' in text)
        print("memotel_build_info" in text, "trace_id=" in text)
        handle.shutdown()
        handle.shutdown()
        try:
            scrape(handle.port)
        except OSError:
            print("closed")
        """
    )
    assert found == ["127.0.0.1 True", "True True", "True True", "closed"]


def test_setup_is_idempotent_and_refuses_other_arguments() -> None:
    found = run(
        """
        handle = telemetry.setup("a", 0)
        print(telemetry.setup("a", 0) is handle)
        print(refused("b", 0))
        handle.shutdown()
        again = telemetry.setup("b", 0)
        install().record_recall(0.1, ("rekall", "direct", "hit"), None)
        text = scrape(again.port)
        print(again is not handle, 'service_name="b"' in text, 'service_name="a"' in text)
        print("memotel_recall_duration_seconds_count" in text)
        again.shutdown()
        """
    )
    assert found[0] == "True"
    assert "already with other arguments" in found[1]
    assert found[2:] == ["True True False", "True"]


def test_variables_are_honoured_and_arguments_win() -> None:
    found = run(
        """
        handle = telemetry.setup()
        text = scrape(handle.port, handle.host)
        print(handle.host, handle.port == int(os.environ["OTEL_EXPORTER_PROMETHEUS_PORT"] or 0))
        print('service_name="from-env"' in text, 'team="agents"' in text)
        print('service_instance_id="mine"' in text)
        print(install().tracer.start_span("x").is_recording())
        handle.shutdown()
        other = telemetry.setup("from-argument", 0, "127.0.0.1")
        print(other.host, 'service_name="from-argument"' in scrape(other.port))
        other.shutdown()
        """,
        OTEL_SERVICE_NAME="from-env",
        OTEL_RESOURCE_ATTRIBUTES="team=agents,service.instance.id=mine",
        OTEL_TRACES_SAMPLER="always_off",
        OTEL_EXPORTER_PROMETHEUS_HOST="localhost",
        OTEL_EXPORTER_PROMETHEUS_PORT=str(free_port()),
    )
    assert found == ["localhost True", "True True", "True", "False", "127.0.0.1 True"]


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_exemplar_filter_is_honoured() -> None:
    found = run(
        """
        handle = telemetry.setup(prometheus_port=0)
        instruments = install()
        with instruments.tracer.start_as_current_span("x"):
            instruments.record_recall(0.1, ("rekall", "direct", "hit"), None)
        text = scrape(handle.port, accept="application/openmetrics-text; version=1.0.0")
        print("memotel_recall_duration_seconds_bucket" in text, "trace_id=" in text)
        handle.shutdown()
        """,
        OTEL_METRICS_EXEMPLAR_FILTER="always_off",
    )
    assert found == ["True False"]


def test_disabled_sdk_makes_setup_do_nothing() -> None:
    found = run(
        """
        from opentelemetry import trace
        handle = telemetry.setup("a", 0)
        print(handle.port, isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider))
        handle.shutdown()
        """,
        OTEL_SDK_DISABLED="true",
    )
    assert found == ["None True"]


def test_taken_port_is_a_clear_error_and_leaves_nothing_behind() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        found = run(
            f"""
            from opentelemetry import trace
            print(refused(prometheus_port={port}))
            print(isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider))
            handle = telemetry.setup(prometheus_port=0)
            print(handle.port > 0)
            handle.shutdown()
            """
        )
    assert f"prometheus_port {port} is taken" in found[0]
    assert found[1:] == ["True", "True"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("prometheus_port=70000", "prometheus_port must be a port from 0 to 65535"),
        ("prometheus_port='9464'", "prometheus_port must be a port from 0 to 65535"),
        ("prometheus_port=True", "prometheus_port must be a port from 0 to 65535"),
        ("prometheus_port=0, prometheus_host='256.1.1.1'", "cannot be bound"),
        ("prometheus_port=0, targets_file='/nowhere/x.json'", "targets_file must be a path"),
    ],
)
def test_wrong_argument_is_a_clear_error(arguments: str, expected: str) -> None:
    assert expected in run(f"print(refused({arguments}))")[0]


def test_wrong_variable_is_a_clear_error() -> None:
    found = run("print(refused())", OTEL_EXPORTER_PROMETHEUS_PORT="ninety")
    assert found == ["OTEL_EXPORTER_PROMETHEUS_PORT must be a port from 0 to 65535, not 'ninety'"]


def test_application_with_own_provider_is_told_so() -> None:
    found = run(
        """
        from opentelemetry import metrics, trace
        from opentelemetry.sdk.trace import TracerProvider
        own = TracerProvider()
        trace.set_tracer_provider(own)
        print(refused(prometheus_port=0))
        print(trace.get_tracer_provider() is own)
        """
    )
    assert "has an OpenTelemetry provider already" in found[0]
    assert found[1] == "True"


@pytest.mark.parametrize(
    ("missing", "call", "expected"),
    [
        ("opentelemetry.sdk.trace", "telemetry.setup()", "memotel[prometheus]"),
        ("prometheus_client", "telemetry.setup(prometheus_port=0)", "memotel[prometheus]"),
        ("prometheus_client", "telemetry.setup()", "memotel[prometheus]"),
        ("prometheus_client", "telemetry.metrics_app()", "memotel[prometheus]"),
    ],
)
def test_missing_extra_is_a_clear_error(missing: str, call: str, expected: str) -> None:
    found = run(
        f"""
        import sys
        sys.modules[{missing!r}] = None
        try:
            {call}
        except ConfigurationError as error:
            print(error)
        """
    )
    assert expected in found[0]


def test_missing_otlp_extra_is_a_clear_error() -> None:
    found = run(
        """
        import sys
        sys.modules["opentelemetry.exporter"] = None
        print(refused())
        """,
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
    )
    assert 'pip install "memotel[otlp]"' in found[0]


def test_grpc_is_refused_with_the_way_out() -> None:
    found = run(
        "print(refused())",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4317",
        OTEL_EXPORTER_OTLP_PROTOCOL="grpc",
    )
    assert "must be http/protobuf" in found[0]


def test_targets_file_tells_prometheus_the_endpoint(tmp_path: "os.PathLike[str]") -> None:
    found = run(
        f"""
        import json
        path = os.path.join({str(tmp_path)!r}, "memotel.json")
        handle = telemetry.setup(prometheus_port=0, targets_file=path)
        with open(path) as stream:
            ((entry,),) = (json.load(stream),)
        print(entry["targets"] == [f"127.0.0.1:{{handle.port}}"], os.listdir(os.path.dirname(path)))
        handle.shutdown()
        print(os.path.exists(path))
        telemetry.setup(prometheus_port=0, targets_file=path)
        """
    )
    assert found == ["True ['memotel.json']", "False"]
    assert os.listdir(tmp_path) == []  # noqa: PTH208 # a normal exit takes the file away as well


def test_targets_file_that_cannot_be_written_leaves_nothing_behind(
    tmp_path: "os.PathLike[str]",
) -> None:
    folder = os.path.join(tmp_path, "folder")  # noqa: PTH118 # a path for another process
    found = run(f"os.mkdir({folder!r}); print(refused(prometheus_port=0, targets_file={folder!r}))")
    assert "targets_file must be a path that can be written" in found[0]
    assert os.listdir(tmp_path) == ["folder"]  # noqa: PTH208 # one name, as the shell shows it


def test_metrics_app_needs_no_port() -> None:
    found = run(
        """
        import asyncio
        handle = telemetry.setup("svc")
        sent = []

        async def receive():
            return {"type": "http.request"}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
        asyncio.run(telemetry.metrics_app()(scope, receive, send))
        print(handle.port, sent[0]["status"], b"memotel_build_info" in sent[1]["body"])
        handle.shutdown()
        """
    )
    assert found == ["None 200 True"]


def test_entry_point_serves_as_opentelemetry_instrument_would_start_it() -> None:
    found = run(
        """
        from importlib.metadata import entry_points
        from opentelemetry import metrics
        from opentelemetry.sdk.metrics import MeterProvider
        (entry,) = entry_points(group="opentelemetry_metrics_exporter", name="memotel_prometheus")
        provider = MeterProvider([entry.load()()])
        metrics.set_meter_provider(provider)
        install().record_recall(0.1, ("rekall", "direct", "hit"), None)
        port = os.environ["OTEL_EXPORTER_PROMETHEUS_PORT"]
        print("memotel_recall_duration_seconds_count" in scrape(port))
        provider.shutdown()
        try:
            scrape(port)
        except OSError:
            print("closed")
        """,
        OTEL_EXPORTER_PROMETHEUS_PORT=str(free_port()),
    )
    assert found == ["True", "closed"]


@dataclass
class OtlpCollector:
    """What an OTLP collector was sent."""

    url: str = ""
    bodies: list[tuple[str, bytes]] = field(default_factory=list)

    def metric_names(self) -> list[str]:
        return [
            metric.name
            for path, body in self.bodies
            if path == "/v1/metrics"
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        ]

    def span_names(self) -> list[str]:
        return [
            span.name
            for path, body in self.bodies
            if path == "/v1/traces"
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@pytest.fixture
def otlp_collector() -> Iterator[OtlpCollector]:
    """An HTTP server that keeps what it is sent."""
    kept = OtlpCollector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.bodies.append((self.path, body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield kept
    server.shutdown()
    thread.join(timeout=10)
    server.server_close()


RECORD = """
        handle = telemetry.setup("svc")
        instruments = install()
        instruments.tracer.start_span("search_memory").end()
        instruments.record_recall(0.1, ("rekall", "direct", "hit"), None)
"""


def test_otlp_sends_spans_and_metrics(otlp_collector: OtlpCollector) -> None:
    run(RECORD + "        handle.shutdown()\n", OTEL_EXPORTER_OTLP_ENDPOINT=otlp_collector.url)
    assert otlp_collector.span_names() == ["search_memory"]
    assert "memotel.recall.duration" in otlp_collector.metric_names()


def test_otlp_sends_a_whole_turn_when_the_process_ends(
    otlp_collector: OtlpCollector, memory_server: DevServer
) -> None:
    run(
        """
        from memotel import MemoryClient, Provider, Scope, Speaker, Turn, resolve
        from memotel.outcomes import Adapter
        telemetry.setup("support-bot")
        settings = resolve(Provider.MEMORYSYNC, Adapter.DIRECT, api_key="ms_otlp", recall_timeout=20.0)
        with MemoryClient(settings) as memory:
            memory.recall(Scope("ada", "s"), "which tea do I like best?")
            memory.write(Turn(Scope("ada", "s"), Speaker.HUMAN, "I like green tea best.", source="test"))
            memory.flush(20)
        """,
        OTEL_EXPORTER_OTLP_ENDPOINT=otlp_collector.url,
        MEMORYSYNC_BASE_URL=memory_server.url,
    )
    assert {"search_memory", "upsert_memory", "POST", "GET"} == set(otlp_collector.span_names())
    assert {"memotel.recalls", "memotel.writes", "memotel.write.delay"} <= set(
        otlp_collector.metric_names()
    )


def test_otlp_metrics_can_be_left_to_the_scrape(otlp_collector: OtlpCollector) -> None:
    run(
        RECORD + "        handle.shutdown()\n",
        OTEL_EXPORTER_OTLP_ENDPOINT=otlp_collector.url,
        OTEL_METRICS_EXPORTER="none",
    )
    assert otlp_collector.span_names() == ["search_memory"]
    assert otlp_collector.metric_names() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forked_child_exports_nothing_of_the_parents_metrics(
    otlp_collector: OtlpCollector,
) -> None:
    run(
        RECORD
        + """
        pid = os.fork()
        if pid == 0:
            handle.meter_provider.force_flush()
            os._exit(0)
        os.waitpid(pid, 0)
        os._exit(0)
        """,
        OTEL_EXPORTER_OTLP_ENDPOINT=otlp_collector.url,
    )
    assert otlp_collector.metric_names() == []
