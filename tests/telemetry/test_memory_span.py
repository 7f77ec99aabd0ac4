"""The memory span: its name, parent, attributes, status and links, and what a call counts."""

import threading
from asyncio import CancelledError
from typing import Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode
from telemetry_rig import (
    FOUND,
    IDENTITY,
    SECRET,
    STORED,
    Rig,
    attributes,
    hit,
    make_call,
    make_write,
    settling,
)

from memotel.calls import RETRY, Call, Identity
from memotel.counts import Count
from memotel.errors import (
    AuthenticationError,
    BudgetExceededError,
    MemotelError,
    QuotaExceededError,
    RateLimitedError,
    ShedError,
    TransportError,
)
from memotel.middleware.telemetry import current_traceparent
from memotel.outcomes import (
    CircuitState,
    Operation,
    Outcome,
    Phase,
    Provider,
    QuotaState,
    Speaker,
    WriteOutcome,
)
from memotel.telemetry.tracing import Trace
from memotel.values import Memories, Write

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_recall_span_has_exactly_the_documented_attributes(rig: Rig) -> None:
    call = make_call()
    call.circuit, call.quota = CircuitState.HALF_OPEN, QuotaState.SILENT
    rig.run(call, hit)
    span = rig.span("search_memory")
    assert span.kind is SpanKind.CLIENT
    assert attributes(span) == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.provider.name": "memorysync",
        "gen_ai.memory.store.id": "project-1",
        "gen_ai.memory.record.count": 2,
        "gen_ai.agent.name": "planner",
        "gen_ai.conversation.id": "session-5",
        "server.address": "memory.test",
        "server.port": 8443,
        "memotel.adapter": "ag2",
        "memotel.outcome": "hit",
        "memotel.budget": 1.2,
        "memotel.attempts": 0,
        "memotel.circuit.state": "half_open",
        "memotel.quota.state": "silent",
    }
    assert {type(value) for value in attributes(span).values()} == {str, int, float}
    assert span.status.status_code is StatusCode.UNSET
    assert not span.events


def test_optional_attributes_are_left_out_where_unknown() -> None:
    identity = Identity(
        Provider.REKALL, "h.test", 443, None, "create_memory", record_session_id=False
    )
    rig = Rig(identity=identity)
    call = make_call(provider=Provider.REKALL)
    call.agent = None
    rig.run(call, settling(Outcome.TIMEOUT, None, BudgetExceededError("late")))
    found = attributes(rig.span("search_memory"))
    for name in (
        "gen_ai.memory.store.id",
        "gen_ai.agent.name",
        "gen_ai.conversation.id",
        "gen_ai.memory.record.count",
        "error.type",
    ):
        assert name not in found


@pytest.mark.parametrize(
    ("operation", "identity", "name"),
    [
        (Operation.SEARCH, IDENTITY, "search_memory"),
        (Operation.SAVE, IDENTITY, "upsert_memory"),
        (
            Operation.SAVE,
            Identity(Provider.REKALL, "h", 443, None, "create_memory"),
            "create_memory",
        ),
    ],
)
def test_span_is_named_for_its_operation(
    operation: Operation, identity: Identity, name: str
) -> None:
    rig = Rig(identity=identity)
    answer = FOUND if operation is Operation.SEARCH else STORED
    rig.run(make_call(operation), settling(Outcome.HIT, answer))
    assert attributes(rig.span(name))["gen_ai.operation.name"] == name


def test_recall_span_is_a_child_of_the_current_span(rig: Rig) -> None:
    with rig.tracers.get_tracer("app").start_as_current_span("invoke_agent") as agent:
        rig.run(make_call(), hit)
    span = rig.span("search_memory")
    assert span.parent is not None
    assert span.parent.span_id == agent.get_span_context().span_id


def test_handler_sees_the_callers_context_unchanged(rig: Rig) -> None:
    before = otel_context.get_current()
    seen: list[object] = []

    def work(call: Call) -> Memories:
        seen.append(otel_context.get_current())
        call.settle(Outcome.HIT, FOUND)
        return FOUND

    rig.run(make_call(), work)
    assert seen == [before]


def test_trace_of_a_call_holds_its_span_for_the_attempts_below(rig: Rig) -> None:
    call = rig.run(make_call(), hit)
    assert isinstance(call.trace, Trace)
    held = trace.get_current_span(call.trace.context).get_span_context()
    context = rig.span("search_memory").context
    assert context is not None
    assert held.span_id == context.span_id


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (Outcome.TIMEOUT, BudgetExceededError("late")),
        (Outcome.UNAVAILABLE, TransportError("gone")),
        (Outcome.QUOTA, None),
        (Outcome.CIRCUIT_OPEN, None),
        (Outcome.CANCELLED, CancelledError()),
        (Outcome.INTERNAL_ERROR, RuntimeError(SECRET)),
    ],
)
def test_recall_without_memories_is_handled_not_an_error(
    rig: Rig, outcome: Outcome, error: BaseException | None
) -> None:
    rig.run(make_call(), settling(outcome, None, error))
    span = rig.span("search_memory")
    assert span.status.status_code is StatusCode.UNSET
    assert attributes(span)["memotel.outcome"] == outcome.value
    assert "error.type" not in attributes(span)


@pytest.mark.parametrize("operation", [Operation.SEARCH, Operation.SAVE])
@pytest.mark.parametrize(
    ("outcome", "error", "error_type"),
    [
        (Outcome.TIMEOUT, BudgetExceededError("late"), "timeout"),
        (Outcome.UNAVAILABLE, TransportError("x", error_type="protocol_error"), "protocol_error"),
        (Outcome.RATE_LIMITED, RateLimitedError("x", status_code=429), "rate_limited"),
        (Outcome.QUOTA, QuotaExceededError("x", status_code=402), "quota_exceeded"),
        (Outcome.REJECTED, AuthenticationError("x", status_code=401), "auth"),
        (Outcome.SHED, ShedError("full"), "_OTHER"),
        (Outcome.INTERNAL_ERROR, RuntimeError(SECRET), "_OTHER"),
        (Outcome.TIMEOUT, None, "timeout"),
        (Outcome.INTERNAL_ERROR, None, "_OTHER"),
    ],
)
def test_explicit_call_that_raises_is_an_error(
    operation: Operation, outcome: Outcome, error: BaseException | None, error_type: str
) -> None:
    rig = Rig()
    rig.run(make_call(operation), settling(outcome, None, error))
    (span,) = rig.spans
    assert attributes(span)["error.type"] == error_type
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None
    assert not span.events
    (labels,) = rig.points("gen_ai.client.operation.duration")
    assert ("error.type", error_type) in labels


def test_cancelled_search_is_no_error(rig: Rig) -> None:
    rig.run(make_call(Operation.SEARCH), settling(Outcome.CANCELLED, None, CancelledError()))
    (span,) = rig.spans
    assert span.status.status_code is StatusCode.UNSET
    assert attributes(span)["memotel.outcome"] == "cancelled"
    assert "error.type" not in attributes(span)


def test_span_ends_on_the_thread_that_settles_and_only_once(rig: Rig) -> None:
    def work(call: Call) -> Memories:
        def race() -> None:
            call.settle(Outcome.TIMEOUT)

        threads = [threading.Thread(target=race) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        call.settle(Outcome.HIT, FOUND)
        return FOUND

    rig.run(make_call(), work)
    assert attributes(rig.span("search_memory"))["memotel.outcome"] == "timeout"
    assert rig.counts.total(Count.RECALLS) == 1


def test_write_span_is_a_root_linked_to_the_turn(rig: Rig) -> None:
    with rig.tracers.get_tracer("app").start_as_current_span("unrelated"):
        rig.run(make_write(age_s=100, trace=TRACEPARENT), settling(WriteOutcome.STORED, STORED))
    span = rig.span("upsert_memory")
    assert span.parent is None
    (link,) = span.links
    assert format(link.context.trace_id, "032x") == TRACEPARENT.split("-")[1]
    assert format(link.context.span_id, "016x") == TRACEPARENT.split("-")[2]
    found = attributes(span)
    assert 100 <= found["memotel.write.delay"] < 160
    assert found["memotel.outcome"] == "stored"
    assert found["gen_ai.memory.record.count"] == 1
    assert found["gen_ai.agent.name"] == "planner"


@pytest.mark.parametrize("traceparent", [None, "", "nonsense", "00-0-0-0"])
def test_write_without_a_usable_traceparent_has_no_link(rig: Rig, traceparent: str | None) -> None:
    rig.run(make_write(trace=traceparent), settling(WriteOutcome.STORED, STORED))
    assert not rig.span("upsert_memory").links


def test_write_of_a_person_does_not_show_a_name(rig: Rig) -> None:
    rig.run(
        make_write(speaker=Speaker.HUMAN, name="Ada Lovelace"),
        settling(WriteOutcome.STORED, STORED),
    )
    assert "gen_ai.agent.name" not in attributes(rig.span("upsert_memory"))


def test_send_that_will_be_repeated_says_retry_and_records_no_delay(rig: Rig) -> None:
    error: MemotelError = TransportError("gone")
    rig.run(make_write(age_s=3), settling(RETRY, None, error))
    span = rig.span("upsert_memory")
    assert attributes(span)["memotel.outcome"] == "retry"
    assert attributes(span)["error.type"] == "connect_error"
    assert span.status.status_code is StatusCode.ERROR
    assert not rig.points("memotel.write.delay")


def test_write_delay_is_recorded_at_a_terminal_outcome(rig: Rig) -> None:
    rig.run(make_write(age_s=50), settling(WriteOutcome.DUPLICATE, STORED))
    ((labels, point),) = rig.points("memotel.write.delay").items()
    assert labels == (("outcome", "duplicate"), ("provider", "memorysync"))
    assert 50 <= point.sum < 110


def test_write_accepted_in_the_future_has_no_negative_delay(rig: Rig) -> None:
    rig.run(make_write(age_s=-30), settling(WriteOutcome.STORED, STORED))
    assert attributes(rig.span("upsert_memory"))["memotel.write.delay"] == 0.0


def test_write_counts_are_left_to_the_write_path(rig: Rig) -> None:
    rig.run(make_write(), settling(WriteOutcome.STORED, STORED))
    assert rig.counts.snapshot() == {}


@pytest.mark.parametrize(
    ("operation", "outcome", "phase", "expected"),
    [
        (
            Operation.RECALL,
            Outcome.HIT,
            Phase.READ,
            {(Count.RECALLS, ("memorysync", "ag2", "hit")): 1},
        ),
        (
            Operation.RECALL,
            Outcome.TIMEOUT,
            Phase.TLS,
            {
                (Count.RECALLS, ("memorysync", "ag2", "timeout")): 1,
                (Count.RECALL_TIMEOUTS, ("memorysync", "tls")): 1,
            },
        ),
        (
            Operation.SEARCH,
            Outcome.TIMEOUT,
            Phase.READ,
            {(Count.SEARCHES, ("memorysync", "ag2", "timeout")): 1},
        ),
        (Operation.SAVE, Outcome.HIT, Phase.READ, {}),
    ],
)
def test_call_is_counted_by_its_outcome(
    rig: Rig, operation: Operation, outcome: Outcome, phase: Phase, expected: dict[Any, int]
) -> None:
    call = make_call(operation)
    call.phase = phase
    rig.run(call, settling(outcome, Memories()))
    counted = {
        (name, labels): value
        for name, series in rig.counts.snapshot().items()
        for labels, value in series.items()
    }
    assert counted == expected


def test_recall_duration_has_closed_labels_and_an_exemplar_of_its_span(rig: Rig) -> None:
    rig.run(make_call(), hit)
    metric = rig.metrics()["memotel.recall.duration"]
    assert (metric.unit, metric.description) == ("s", "How long replies waited for a recall.")
    (point,) = metric.data.data_points
    assert point.attributes == {"provider": "memorysync", "adapter": "ag2", "outcome": "hit"}
    (exemplar,) = point.exemplars
    context = rig.span("search_memory").context
    assert context is not None
    assert (exemplar.trace_id, exemplar.span_id) == (context.trace_id, context.span_id)


def test_operation_duration_follows_the_convention(rig: Rig) -> None:
    rig.run(make_call(), settling(Outcome.TIMEOUT, None, BudgetExceededError("late")))
    metric = rig.metrics()["gen_ai.client.operation.duration"]
    assert (metric.unit, metric.description) == ("s", "GenAI operation duration.")
    (point,) = metric.data.data_points
    assert point.attributes == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.provider.name": "memorysync",
    }
    assert point.explicit_bounds[:3] == (0.01, 0.02, 0.04)


def test_suppressed_instrumentation_leaves_no_span_but_counts(rig: Rig) -> None:
    token = otel_context.attach(otel_context.set_value("suppress_instrumentation", True))
    try:
        rig.run(make_call(), hit)
    finally:
        otel_context.detach(token)
    assert rig.spans == []
    assert rig.counts.total(Count.RECALLS) == 1


def test_traceparent_is_that_of_the_current_span(rig: Rig) -> None:
    assert current_traceparent() is None
    with rig.tracers.get_tracer("app").start_as_current_span("turn") as span:
        text = current_traceparent()
    context = span.get_span_context()
    assert text is not None
    assert text.startswith(f"00-{context.trace_id:032x}-{context.span_id:016x}-")
    write = make_write(trace=text)
    assert isinstance(write.request, Write)
    rig.run(write, settling(WriteOutcome.STORED, STORED))
    (link,) = rig.span("upsert_memory").links
    assert link.context.span_id == context.span_id
