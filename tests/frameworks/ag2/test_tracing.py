"""One trace for each turn: the recall under AG2's own span of the agent, the writes linked to it."""

import json
from pathlib import Path
from typing import Any

import pytest
from telemetry_rig import run_python

from memotel.devserver import DevServer

pytest.importorskip("autogen.opentelemetry", reason="AG2 traces agents from 0.11 on")

SUPPORT = str(Path(__file__).parents[2] / "support")
SCRIPT = """
import asyncio, json, sys, warnings
warnings.simplefilter("ignore")  # autogen warns while it is imported
sys.path.insert(0, SUPPORT)
from autogen.opentelemetry import instrument_agent
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ag2_chats import chat, person
from ag2_memorysync import MemorySyncCapability
from ag2_model import assistant

url, order, is_async = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
exporter = InMemorySpanExporter()
tracers = TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(tracers)

with MemorySyncCapability(user_id="ada", api_key="k", base_url=url, recall_timeout=5.0) as memory:
    agent, _ = assistant("planner", "take the train")
    if order == "memory-first":
        memory.add_to_agent(agent)
    instrument_agent(agent, tracer_provider=tracers)
    memory.add_to_agent(agent)
    with trace.get_tracer("app").start_as_current_span("request"):
        chat(person(), agent, "please plan my trip to Oslo", is_async=is_async, max_turns=1)
print("SPANS" + json.dumps([json.loads(span.to_json()) for span in exporter.get_finished_spans()]))
"""


def spans(server: DevServer, order: str, is_async: bool) -> list[dict[str, Any]]:
    arguments = (server.url, order, str(is_async))
    done = run_python(
        f"import sys; sys.argv = ['x', *{arguments!r}]; SUPPORT = {SUPPORT!r}\n{SCRIPT}"
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("SPANS"))
    found: list[dict[str, Any]] = json.loads(line.removeprefix("SPANS"))
    return found


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("order", ["memory-first", "memory-last"])
def test_recall_is_under_the_agents_span_and_writes_are_linked(
    memory_server: DevServer, order: str, is_async: bool
) -> None:
    found = spans(memory_server, order, is_async)
    by_id = {span["context"]["span_id"]: span for span in found}
    (request,) = [span for span in found if span["name"] == "request"]
    (recall,) = [span for span in found if span["name"].startswith("search_memory")]
    assert by_id[recall["parent_id"]]["name"] == "invoke_agent planner"
    assert recall["context"]["trace_id"] == request["context"]["trace_id"]
    assert recall["attributes"]["gen_ai.agent.name"] == "planner"
    writes = [span for span in found if span["name"].startswith("upsert_memory")]
    assert len(writes) == 2
    for write in writes:
        (link,) = write["links"]
        assert link["context"]["trace_id"] == request["context"]["trace_id"]
