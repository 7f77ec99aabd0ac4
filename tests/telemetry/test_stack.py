"""The whole client under telemetry: one trace for each turn, against the development server, over real HTTP."""

import json
from collections.abc import Mapping
from typing import Any

from telemetry_rig import run_python

from memotel.devserver import DevServer
from memotel.testing import SetFault

SCRIPT = """
import json, sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memotel.client import MemoryClient
from memotel.outcomes import Adapter, Provider, Speaker
from memotel.settings import resolve
from memotel.values import Scope, Turn

provider, url, budget = sys.argv[1:]
client = MemoryClient(
    resolve(Provider(provider), Adapter.DIRECT, url=url, api_key="rk_test" if provider == "rekall" else "ms_test", recall_timeout=float(budget))
)
# The application sets its providers after the client was built.
exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
tracers = TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(tracers)
metrics.set_meter_provider(MeterProvider([reader]))

scope = Scope("ada", "session-1")
with trace.get_tracer("app").start_as_current_span("turn"):
    recalled = client.recall(scope, "which tea do I like best?")
    client.write(Turn(scope, Speaker.HUMAN, "I like green tea best of all.", source="test"))
report = client.flush(10)
(scope_metrics,) = [
    s for s in reader.get_metrics_data().resource_metrics[0].scope_metrics if s.scope.name == "memotel"
]
print(json.dumps({
    "outcome": recalled.outcome,
    "pending": report.pending,
    "spans": [json.loads(span.to_json()) for span in exporter.get_finished_spans()],
    "unaccounted": [
        p.value for m in scope_metrics.metrics if m.name == "memotel.writes.unaccounted"
        for p in m.data.data_points
    ],
}))
"""


def run(server: DevServer, provider: str, budget_s: float = 5.0) -> Mapping[str, Any]:
    """Make one turn in a process of its own; return what it saw."""
    arguments = (provider, server.url, str(budget_s))
    done = run_python(f"import sys; sys.argv = ['x', *{arguments!r}]\n{SCRIPT}")
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def named(found: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the spans of that name."""
    return [span for span in found["spans"] if span["name"] == name]


def children(found: Mapping[str, Any], span: dict[str, Any]) -> list[str]:
    """Return the names of a span's children."""
    own = span["context"]["span_id"]
    return sorted(s["name"] for s in found["spans"] if s["parent_id"] == own)


def test_memorysync_turn_is_one_trace_with_a_linked_write(memory_server: DevServer) -> None:
    found = run(memory_server, "memorysync")
    (turn,) = named(found, "turn")
    (recall,) = named(found, "search_memory")
    (write,) = named(found, "upsert_memory")
    assert children(found, turn) == ["search_memory"]
    assert "POST" in children(found, recall)
    assert write["parent_id"] is None
    (link,) = write["links"]
    assert link["context"]["span_id"] == turn["context"]["span_id"]
    assert "POST" in children(found, write)
    assert write["attributes"]["memotel.outcome"] == "stored"
    assert recall["attributes"]["memotel.attempts"] == 1
    assert (found["pending"], found["unaccounted"]) == (0, [0])
    shown = [
        span["attributes"]["url.full"]
        for span in found["spans"]
        if "url.full" in span["attributes"]
    ]
    assert all(url.startswith(memory_server.url) for url in shown)
    assert not [url for url in shown if "ada" in url]


def test_rekall_turn_is_one_trace_with_a_linked_write(memory_server: DevServer) -> None:
    found = run(memory_server, "rekall")
    (turn,) = named(found, "turn")
    (recall,) = named(found, "search_memory")
    (write,) = named(found, "create_memory")
    assert children(found, turn) == ["search_memory"]
    assert children(found, recall) == ["POST"]
    assert write["links"][0]["context"]["span_id"] == turn["context"]["span_id"]
    assert recall["attributes"]["gen_ai.provider.name"] == "rekall"


def test_timed_out_recall_is_handled_and_its_attempt_is_the_error(
    memory_server: DevServer, fault: SetFault
) -> None:
    fault("hang", on="recalls")
    found = run(memory_server, "rekall", budget_s=0.3)
    (recall,) = named(found, "search_memory")
    assert found["outcome"] == "timeout"
    assert recall["attributes"]["memotel.outcome"] == "timeout"
    assert recall["status"]["status_code"] == "UNSET"
    assert "error.type" not in recall["attributes"]
    failed = [
        span["attributes"].get("error.type")
        for span in named(found, "POST")
        if span["parent_id"] == recall["context"]["span_id"]
    ]
    assert failed == ["BudgetExceededError"]
