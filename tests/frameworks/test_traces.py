"""One trace per turn: the recall's span under the agent's own span, the write's span linked to the turn."""

import asyncio
from collections.abc import Iterator

import pytest
from ag2_chats import person
from ag2_model import assistant
from autogen.opentelemetry import instrument_agent
from autogen_agentchat.agents import AssistantAgent
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from scripted_model import ScriptedModel

from ag2_memorysync import MemorySyncCapability
from memotel.devserver import DevServer, Route
from memotel.telemetry.instruments import install
from rekall_autogen import RekallMemory


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    """A tracer provider that the process's instruments stand on while the test runs."""
    provider = TracerProvider()
    install().use_tracers(provider)
    yield provider
    install().use_tracers(None)
    provider.shutdown()


@pytest.fixture
def exporter(provider: TracerProvider) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter


def named(exporter: InMemorySpanExporter, start: str) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name.startswith(start)]


def span_id(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.span_id


def trace_id(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.trace_id


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("order", ["memory_first", "instrument_first"])
def test_ag2_recall_nests_under_the_agents_span_and_writes_are_linked_to_the_turn(
    memory_server: DevServer,
    provider: TracerProvider,
    exporter: InMemorySpanExporter,
    order: str,
    *,
    is_async: bool,
) -> None:
    agent, _ = assistant("assistant", "Assam, I think.")
    with MemorySyncCapability("ada", "s1", api_key="ms_1", base_url=memory_server.url) as memory:
        steps = [
            lambda: memory.add_to_agent(agent),
            lambda: instrument_agent(agent, tracer_provider=provider),
        ]
        for step in steps if order == "memory_first" else reversed(steps):
            step()
        ada = person()
        options = {"message": "Which tea do I like best?", "max_turns": 1, "silent": True}
        if is_async:
            asyncio.run(ada.a_initiate_chat(agent, **options))  # type: ignore[arg-type] # AG2's own options
        else:
            ada.initiate_chat(agent, **options)  # type: ignore[arg-type] # as above
        memory.flush(10)

    [invoke] = named(exporter, "invoke_agent")
    [recall] = named(exporter, "search_memory")
    assert recall.kind is SpanKind.CLIENT
    assert recall.parent is not None
    assert recall.parent.span_id == span_id(invoke)
    assert trace_id(recall) == trace_id(invoke)
    attempts = [
        s for s in named(exporter, "POST") if s.parent and s.parent.span_id == span_id(recall)
    ]
    assert len(attempts) == 1
    writes = named(exporter, "upsert_memory")
    assert len(writes) == 2
    linked = {link.context.trace_id for write in writes for link in write.links}
    assert linked <= {trace_id(span) for span in exporter.get_finished_spans()}
    assert trace_id(invoke) in linked
    assert all(write.parent is None for write in writes)


def test_autogen_recall_nests_under_the_current_span_and_writes_are_linked_to_it(
    memory_server: DevServer, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    memory = RekallMemory(api_url=memory_server.url, api_key="rk_1", capture="both")
    agent = AssistantAgent("assistant", ScriptedModel(["Assam."]), memory=[memory])
    tracer = provider.get_tracer("application")

    async def main() -> None:
        with tracer.start_as_current_span("turn"):
            await agent.run(task="Which tea do I like best?")
        await memory.aflush(10)
        await memory.close()

    asyncio.run(main())

    [turn] = named(exporter, "turn")
    [recall] = named(exporter, "search_memory")
    assert trace_id(recall) == trace_id(turn)
    writes = named(exporter, "create_memory")
    assert len(writes) == 2
    assert {link.context.trace_id for write in writes for link in write.links} == {trace_id(turn)}


def test_trace_context_reaches_the_service_and_baggage_does_not(
    memory_server: DevServer, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    from opentelemetry import baggage, context

    token = context.attach(baggage.set_baggage("user.id", "ada"))
    try:
        with MemorySyncCapability(
            "ada", "s1", api_key="ms_1", base_url=memory_server.url
        ) as memory:
            memory.search("Which tea do I like best?")
    finally:
        context.detach(token)

    [request] = memory_server.requests(Route.MEMORYSYNC_QUERY)
    [span] = named(exporter, "search_memory")
    assert format(trace_id(span), "032x") in request.headers["traceparent"]
    assert "baggage" not in request.headers
