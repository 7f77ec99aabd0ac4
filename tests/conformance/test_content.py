"""Content stands on spans only where it is asked for, then as the records schema says; on metrics and in logs never."""

import json
from typing import Any

from conventions import CONTENT, is_memory, problems_of_memory
from observed_run import FACT, HOSTILE, QUESTION, USER, Observed

from memotel.notices import Event


def content_of(observed: Observed) -> list[dict[str, Any]]:
    """Return the content attributes of each memory span."""
    return [
        {name: value for name, value in (span.attributes or {}).items() if name in CONTENT}
        for span in observed.spans
        if is_memory(span)
    ]


def test_nothing_of_what_was_said_is_on_a_span_unasked(observed: Observed) -> None:
    shown = " ".join(
        str(value) for span in observed.spans for value in (span.attributes or {}).values()
    )
    assert [word for word in HOSTILE if word in shown] == []
    assert not any(content_of(observed))


def test_content_that_is_asked_for_follows_the_records_schema(
    observed_with_content: Observed,
) -> None:
    spans = [span for span in observed_with_content.spans if is_memory(span)]
    assert [found for span in spans if (found := problems_of_memory(span, has_content=True))] == []
    shown = content_of(observed_with_content)
    assert {found.get("gen_ai.memory.query.text") for found in shown} == {None, QUESTION, FACT}
    records = [json.loads(found["gen_ai.memory.records"]) for found in shown if len(found)]
    contents = {record["content"] for each in records for record in each}
    assert any(FACT in content for content in contents)


def test_user_is_on_no_span_even_where_content_is_asked_for(
    observed_with_content: Observed,
) -> None:
    for span in observed_with_content.spans:
        values = [str(value) for value in (span.attributes or {}).values()]
        assert not [value for value in values if USER in value]


def test_log_of_a_run_with_every_fault_holds_no_content_user_or_key(observed: Observed) -> None:
    assert len(observed.logs) > 10
    for record in observed.logs:
        said = f"{record.getMessage()} {record.__dict__} {record.exc_info}"
        assert [word for word in HOSTILE if word in said] == [], record.getMessage()


def test_log_says_each_change_of_state_once_for_each_account(observed: Observed) -> None:
    said = [(record.__dict__["event"], record.__dict__["account"]) for record in observed.logs]
    assert len(said) == len(set(said))
    events = {event for event, _ in said}
    assert {
        "circuit.opened",
        "circuit.closed",
        "quota.silent",
        "quota.limited",
        "credentials.rejected",
        "writes.dead_letter",
        "writes.dropped",
        "recall.failed",
    } <= events


def test_every_event_of_the_log_is_one_of_the_promised_ones(observed: Observed) -> None:
    topics = {
        Event(record.__dict__["event"]).topic: record.name.removeprefix("memotel.")
        for record in observed.logs
    }
    assert len(topics) > 4
    assert [topic for topic, logger in topics.items() if topic != logger] == []


def test_log_carries_the_trace_of_the_turn_where_there_is_one(observed: Observed) -> None:
    turns = {
        format(context.trace_id, "032x")
        for span in observed.spans
        if span.name.startswith("turn ") and (context := span.get_span_context())
    }
    traced = [record for record in observed.logs if "trace_id" in record.__dict__]
    assert {"circuit.opened", "credentials.rejected", "quota.limited"} <= {
        record.__dict__["event"] for record in traced
    }
    assert {record.__dict__["trace_id"] for record in traced} <= turns
