"""One trace for each turn: the recall under AG2's own span of the agent, the writes linked to it."""

import json
from pathlib import Path

from telemetry_rig import run_python

from memotel.devserver import DevServer

SUPPORT = str(Path(__file__).parents[2] / "support")
SCRIPT = """
import asyncio, json, sys
sys.path.insert(0, SUPPORT)
from ag2 import Agent
from ag2.middleware import TelemetryMiddleware
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ag2_v1_model import ScriptedConfig
from memotel.ag2_v1 import MemorySyncMemory

exporter = InMemorySpanExporter()
tracers = TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(tracers)

with MemorySyncMemory("ada", api_key="k", base_url=URL, recall_timeout=5.0) as memory:
    telemetry = TelemetryMiddleware(tracer_provider=tracers, agent_name="planner")
    agent = Agent(
        "planner", config=ScriptedConfig("ok"), plugins=[memory.plugin()], middleware=[telemetry]
    )
    with trace.get_tracer("app").start_as_current_span("request"):
        asyncio.run(agent.ask("please plan my trip to Oslo"))
print("SPANS" + json.dumps([json.loads(span.to_json()) for span in exporter.get_finished_spans()]))
"""


def test_recall_is_under_the_agents_span_and_writes_are_linked(memory_server: DevServer) -> None:
    done = run_python(f"SUPPORT, URL = {SUPPORT!r}, {memory_server.url!r}\n{SCRIPT}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("SPANS"))
    found = json.loads(line.removeprefix("SPANS"))
    by_id = {span["context"]["span_id"]: span for span in found}
    (request,) = [span for span in found if span["name"] == "request"]
    (recall,) = [span for span in found if span["name"].startswith("search_memory")]
    above, names = recall, []
    while above["parent_id"]:
        above = by_id[above["parent_id"]]
        names.append(above["name"])
    assert names[-2:] == ["invoke_agent planner", "request"]
    assert recall["attributes"]["gen_ai.agent.name"] == "planner"
    writes = [span for span in found if span["name"].startswith("upsert_memory")]
    assert len(writes) == 2
    for write in writes:
        (link,) = write["links"]
        assert link["context"]["trace_id"] == request["context"]["trace_id"]
