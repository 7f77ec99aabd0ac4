"""One trace for each turn: the recall under the framework's own span of the run, the writes linked to it."""

import json
from pathlib import Path

import pytest
from telemetry_rig import run_python

from memotel.devserver import DevServer

SUPPORT = str(Path(__file__).parents[2] / "support")
SCRIPT = """
import asyncio, json, sys
sys.path.insert(0, SUPPORT)
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
tracers = TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(tracers)

from agent_framework_model import ScriptedClient, agent_of
from memotel.agent_framework import MemoryContextProvider

async def main(memory):
    agent = agent_of(ScriptedClient("Noted."), memory)
    question = "please plan my trip to Oslo"
    with trace.get_tracer("app").start_as_current_span("request"):
        if IS_STREAMED:
            await agent.run(question, stream=True).get_final_response()
        else:
            await agent.run(question)

with MemoryContextProvider("memorysync", "ada", api_key="k", url=URL, recall_timeout=5.0) as memory:
    asyncio.run(main(memory))
print("SPANS" + json.dumps([json.loads(span.to_json()) for span in exporter.get_finished_spans()]))
"""


@pytest.mark.parametrize("is_streamed", [False, True])
def test_recall_is_under_the_agents_span_and_writes_are_linked(
    memory_server: DevServer, *, is_streamed: bool
) -> None:
    given = f"SUPPORT, URL, IS_STREAMED = {SUPPORT!r}, {memory_server.url!r}, {is_streamed!r}\n"
    done = run_python(given + SCRIPT)
    line = next(line for line in done.stdout.splitlines() if line.startswith("SPANS"))
    found = json.loads(line.removeprefix("SPANS"))
    by_id = {span["context"]["span_id"]: span for span in found}
    (request,) = [span for span in found if span["name"] == "request"]
    (recall,) = [span for span in found if span["name"].startswith("search_memory")]
    invoke = by_id[recall["parent_id"]]
    assert invoke["name"] == "invoke_agent helper"
    assert invoke["parent_id"] == request["context"]["span_id"]
    assert recall["attributes"]["gen_ai.agent.name"] == "helper"
    assert recall["attributes"]["memotel.adapter"] == "agent_framework"
    writes = [span for span in found if span["name"].startswith("upsert_memory")]
    assert len(writes) == 2
    for write in writes:
        (link,) = write["links"]
        assert link["context"]["trace_id"] == request["context"]["trace_id"]
