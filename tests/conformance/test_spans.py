"""Every span of a run with every outcome is as the conventions' data says: names, kinds, attributes, types, links."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from conventions import OURS, is_http, is_memory, problems_of_http, problems_of_memory
from observed_run import SESSION, Observed
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, Status, StatusCode

PROVIDERS = tuple(OURS["providers"])
OUTCOMES = {
    "hit": "hit",
    "empty": "empty",
    "skipped": "skipped",
    "timeout": "timeout",
    "unavailable": "unavailable",
    "rate_limited": "rate_limited",
    "quota": "quota",
    "rejected": "rejected",
    "malformed": "unavailable",
    "refused": "unavailable",
    "retried": "empty",
    "circuit_open": "circuit_open",
    "shed": "shed",
}
"""Of each scenario's last recall, the outcome."""
ERRORS = {
    "timeout": "timeout",
    "server_error": "server_error",
    "rate_limited": "rate_limited",
    "quota": "quota_exceeded",
    "auth": "auth",
    "invalid": "invalid_request",
    "malformed": "protocol_error",
    "reset": "connect_error",
}
"""Of each fault that an explicit call met, its `error.type`."""
by_provider = pytest.mark.parametrize("provider", PROVIDERS)


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def outcome(span: ReadableSpan) -> str:
    return str(attributes(span)["memotel.outcome"])


def test_every_span_of_ours_is_a_memory_span_or_an_attempt(observed: Observed) -> None:
    ours = [span for span in observed.spans if not span.name.startswith("turn ")]
    assert len(ours) > 200
    assert [span.name for span in ours if not (is_memory(span) or is_http(span))] == []


def test_every_memory_span_is_as_the_convention_says(observed: Observed) -> None:
    spans = [span for span in observed.spans if is_memory(span)]
    problems = {span.name: found for span in spans if (found := problems_of_memory(span))}
    assert problems == {}
    assert {span.name for span in spans} == {"search_memory", *OURS["providers"].values()}


def test_every_attempts_span_is_as_the_convention_says(observed: Observed) -> None:
    spans = [span for span in observed.spans if is_http(span)]
    assert {span.name: found for span in spans if (found := problems_of_http(span))} == {}
    statuses = {attributes(span).get("http.response.status_code") for span in spans}
    assert {200, 401, 422, 429, 500, 503, None} <= statuses


@by_provider
@pytest.mark.parametrize("scenario", OUTCOMES)
def test_recall_span_says_the_outcome_that_its_caller_got(
    observed: Observed, provider: str, scenario: str
) -> None:
    expected = OUTCOMES[scenario]
    assert observed.outcomes[f"{provider}-{scenario}"] == expected
    spans = [s for s in observed.of(f"{provider}-{scenario}") if s.name == "search_memory"]
    if expected == "skipped":
        assert spans == []
        return
    assert expected in {outcome(span) for span in spans}


@by_provider
def test_cancelled_recall_is_no_error(observed: Observed, provider: str) -> None:
    (span,) = observed.of(f"{provider}-cancelled")
    assert outcome(span) == "cancelled"
    assert span.status.status_code is StatusCode.UNSET


def test_silent_quota_and_a_fault_of_ours_are_outcomes_of_their_own(observed: Observed) -> None:
    (recall,) = [s for s in observed.of("memorysync-silent_quota") if s.name == "search_memory"]
    assert (outcome(recall), attributes(recall)["memotel.quota.state"]) == ("quota", "silent")
    (broken,) = observed.of("memorysync-internal_error")
    assert outcome(broken) == "internal_error"


def test_every_outcome_of_a_recall_was_seen(observed: Observed) -> None:
    seen = {outcome(span) for span in observed.named("search_memory")}
    assert seen == {*OURS["recall_outcomes"]} - {"skipped"}


def test_recall_without_memories_is_handled_and_its_attempt_carries_the_error(
    observed: Observed,
) -> None:
    for scenario, expected in (("timeout", "BudgetExceededError"), ("unavailable", "500")):
        for provider in PROVIDERS:
            (recall,) = observed.of(f"{provider}-{scenario}")
            assert recall.status.status_code is StatusCode.UNSET
            assert "error.type" not in attributes(recall)
            attempts = observed.attempts_of(recall)
            assert expected in {attributes(span).get("error.type") for span in attempts}


@by_provider
@pytest.mark.parametrize("fault", ERRORS)
def test_explicit_call_that_raises_is_an_error_of_its_span(
    observed: Observed, provider: str, fault: str
) -> None:
    for kind in ("search", "save"):
        scenario = f"{kind}_{fault}"
        assert observed.outcomes[f"{provider}-{scenario}"] == ERRORS[fault]
        (span,) = observed.of(f"{provider}-{scenario}")
        assert attributes(span)["error.type"] == ERRORS[fault]
        assert span.status.status_code is StatusCode.ERROR


@by_provider
def test_resend_counts_from_the_second_attempt(observed: Observed, provider: str) -> None:
    (recall,) = observed.of(f"{provider}-retried")
    posts = [span for span in observed.attempts_of(recall) if span.name == "POST"]
    counts = [attributes(span).get("http.request.resend_count") for span in posts]
    assert counts == [None, 1]
    assert attributes(recall)["memotel.attempts"] == 2


@by_provider
def test_calls_that_a_caller_waits_for_are_children_of_its_span(
    observed: Observed, provider: str
) -> None:
    turns = {span.name: span.get_span_context() for span in observed.spans}
    waited = [
        span
        for span in observed.spans
        if is_memory(span)
        and str(attributes(span).get(SESSION)).startswith(f"{provider}-")
        and "memotel.write.delay" not in attributes(span)
    ]
    assert len(waited) > 30
    for span in waited:
        turn = turns[f"turn {attributes(span)[SESSION]}"]
        assert turn is not None
        assert span.parent is not None
        assert span.parent.span_id == turn.span_id


@by_provider
def test_writes_are_roots_linked_to_the_turn(observed: Observed, provider: str) -> None:
    turns = {span.name: span.get_span_context() for span in observed.spans}
    writes = [
        span
        for span in observed.named(OURS["providers"][provider])
        if "memotel.write.delay" in attributes(span)
    ]
    assert len(writes) > 10
    for span in writes:
        turn = turns[f"turn {attributes(span)[SESSION]}"]
        assert turn is not None
        assert span.parent is None
        assert [link.context.span_id for link in span.links] == [turn.span_id]


def test_attempts_are_children_of_a_memory_span(observed: Observed) -> None:
    contexts = [span.get_span_context() for span in observed.spans if is_memory(span)]
    known = {context.span_id for context in contexts if context is not None}
    attempts = [span for span in observed.spans if is_http(span)]
    assert all(span.parent is not None and span.parent.span_id in known for span in attempts)


@by_provider
def test_outcomes_of_sends_are_told_apart(observed: Observed, provider: str) -> None:
    write = OURS["providers"][provider]
    sends = {
        outcome(span) for span in observed.named(write) if "memotel.write.delay" in attributes(span)
    }
    assert {"stored", "duplicate", "rejected", "retry"} <= sends
    assert ("ignored" in sends) is (
        provider == "memorysync"
    )  # Rekall keeps an agent's words as well


@by_provider
@pytest.mark.parametrize("adapter", OURS["adapters"])
def test_each_adapter_recalls_and_writes_under_its_own_name(
    observed: Observed, provider: str, adapter: str
) -> None:
    names = {
        span.name
        for span in observed.spans
        if attributes(span).get("memotel.adapter") == adapter
        and attributes(span).get("gen_ai.provider.name") == provider
    }
    assert names == {"search_memory", OURS["providers"][provider]}


ADAPTER_OUTCOMES = {
    "well": ["empty", "hit"],
    "timeout": ["timeout"],
    "unavailable": ["unavailable"],
    "rate_limited": ["rate_limited"],
    "quota": ["quota"],
    "rejected": ["rejected"],
    "malformed": ["unavailable"],
    "refused": ["unavailable"],
    "circuit_open": ["unavailable", "circuit_open"],
    "skipped": [],
}
"""Of each scenario of an adapter's agents, the outcomes of its recalls in their order."""


@by_provider
@pytest.mark.parametrize("adapter", sorted({*OURS["adapters"]} - {"direct"}))
def test_each_adapter_tells_every_outcome_that_a_turn_can_have(
    observed: Observed, provider: str, adapter: str
) -> None:
    seen = {
        scenario: [
            outcome(span)
            for span in observed.of(f"{provider}-{adapter}-{scenario}")
            if span.name == "search_memory"
        ]
        for scenario in ADAPTER_OUTCOMES
    }
    assert seen == ADAPTER_OUTCOMES
    spans = [
        span
        for scenario in ADAPTER_OUTCOMES
        for span in observed.of(f"{provider}-{adapter}-{scenario}")
    ]
    assert {attributes(span)["memotel.adapter"] for span in spans} == {adapter}
    assert {attributes(span).get("gen_ai.agent.name") for span in spans} == {"planner", None}


def test_every_attempt_goes_to_an_address_of_the_run(observed: Observed) -> None:
    seen = {
        (attributes(span)["server.address"], attributes(span)["server.port"])
        for span in observed.spans
        if is_memory(span) or is_http(span)
    }
    assert seen == observed.addresses


def test_no_baggage_reaches_a_service(observed: Observed) -> None:
    assert len(observed.headers) > 100
    assert all("traceparent" in headers for headers in observed.headers)
    assert not [headers for headers in observed.headers if "baggage" in headers]


def test_services_see_the_attempts_own_span(observed: Observed) -> None:
    contexts = [span.get_span_context() for span in observed.spans if is_http(span)]
    known = {
        f"00-{context.trace_id:032x}-{context.span_id:016x}" for context in contexts if context
    }
    sent = {headers["traceparent"].rpartition("-")[0] for headers in observed.headers}
    assert sent <= known


MUTATIONS: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "missing": ("gen_ai.operation.name", lambda found: found.pop("gen_ai.operation.name")),
    "unknown": ("user.id", lambda found: found.update({"user.id": "ada"})),
    "type": ("server.port", lambda found: found.update({"server.port": "443"})),
    "bool": ("memotel.attempts", lambda found: found.update({"memotel.attempts": True})),
    "enum": ("memotel.adapter", lambda found: found.update({"memotel.adapter": "ada"})),
    "outcome": ("memotel.outcome", lambda found: found.update({"memotel.outcome": "skipped"})),
    "error": ("error.type", lambda found: found.update({"error.type": "timeout"})),
    "provider": (
        "gen_ai.provider.name",
        lambda found: found.update({"gen_ai.provider.name": "mem0"}),
    ),
    "content": ("content", lambda found: found.update({"gen_ai.memory.query.text": "tea"})),
    "records": ("records", lambda found: found.update({"gen_ai.memory.records": '[{"id": "m"}]'})),
}


def mutated(span: ReadableSpan, **changes: Any) -> ReadableSpan:
    values: dict[str, Any] = {
        "name": span.name,
        "context": span.get_span_context(),
        "attributes": attributes(span),
        "kind": span.kind,
        "status": span.status,
    }
    return ReadableSpan(**(values | changes))


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_check_finds_a_wrong_attribute(observed: Observed, mutation: str) -> None:
    (span,) = [s for s in observed.of("rekall-hit") if s.name == "search_memory"]
    name, change = MUTATIONS[mutation]
    wrong = attributes(span)
    change(wrong)
    problems = problems_of_memory(mutated(span, attributes=wrong))
    assert any(name in problem for problem in problems)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": SpanKind.INTERNAL},
        {"name": "search_memory my-store"},
        {"status": Status(StatusCode.ERROR)},
        {"status": Status(StatusCode.ERROR, "words")},
    ],
)
def test_check_finds_a_wrong_span(observed: Observed, changes: Mapping[str, Any]) -> None:
    (span,) = [s for s in observed.of("rekall-hit") if s.name == "search_memory"]
    assert problems_of_memory(mutated(span)) == []
    assert problems_of_memory(mutated(span, **changes))
