"""Content on spans: never unasked, bounded when asked for, in the convention's schema."""

import json
from collections.abc import Mapping

import jsonschema
import pytest
from telemetry_rig import SECRET, STORED, Rig, attributes, hit, make_call, make_write, settling

from memotel.outcomes import Operation, Outcome, WriteOutcome
from memotel.telemetry.content import (
    CAPTURE_VARIABLE,
    MAX_RECORDS,
    MAX_TEXT_CHARS,
    is_content_wanted,
)
from memotel.values import Memories, Memory

# MemoryRecords of OpenTelemetry semantic-conventions-genai, gen-ai-memory-records.json at 2c8f13c7 (Apache-2.0).
SCHEMA: Mapping[str, object] = {
    "type": "array",
    "items": {
        "type": "object",
        "additionalProperties": True,
        "required": ["content"],
        "properties": {
            "id": {"type": "string"},
            "metadata": {"type": "object"},
            "score": {"type": "number"},
        },
    },
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", False),
        ("NO_CONTENT", False),
        ("EVENT_ONLY", False),
        ("false", False),
        ("nonsense", False),
        ("SPAN_ONLY", True),
        ("span_and_event", True),
        ("true", True),
        (" True ", True),
    ],
)
def test_content_is_wanted_only_for_spans(value: str, expected: bool) -> None:
    assert is_content_wanted({CAPTURE_VARIABLE: value}) is expected


def test_content_is_not_wanted_by_default() -> None:
    assert not is_content_wanted({})


def test_no_telemetry_holds_content_user_or_session_unasked(
    monkeypatch: pytest.MonkeyPatch, rig: Rig
) -> None:
    monkeypatch.delenv(CAPTURE_VARIABLE, raising=False)
    rig.run(make_call(), hit)
    rig.run(
        make_call(Operation.SEARCH), settling(Outcome.INTERNAL_ERROR, None, RuntimeError(SECRET))
    )
    rig.run(make_write(), settling(WriteOutcome.STORED, STORED))
    spans = "".join(span.to_json() for span in rig.spans)
    metrics = repr(rig.metrics())
    for text in (SECRET, "user-77"):
        assert text not in spans
        assert text not in metrics
    assert "session-5" not in metrics
    assert "planner" not in metrics


@pytest.fixture
def wanting_rig(monkeypatch: pytest.MonkeyPatch) -> Rig:
    monkeypatch.setenv(CAPTURE_VARIABLE, "SPAN_ONLY")
    return Rig()


def test_recall_shows_query_and_records_when_asked(wanting_rig: Rig) -> None:
    wanting_rig.run(make_call(), hit)
    found = attributes(wanting_rig.span("search_memory"))
    assert found["gen_ai.memory.query.text"] == SECRET
    records = json.loads(found["gen_ai.memory.records"])
    jsonschema.validate(records, SCHEMA)
    assert records == [
        {"content": SECRET, "id": "m_1", "score": 0.9},
        {"content": "tea", "id": "m_2"},
    ]


def test_writes_show_their_text_when_asked(wanting_rig: Rig) -> None:
    wanting_rig.run(make_write(), settling(WriteOutcome.STORED, STORED))
    wanting_rig.run(make_call(Operation.SAVE), settling(Outcome.HIT, STORED))
    for span in wanting_rig.spans:
        records = json.loads(attributes(span)["gen_ai.memory.records"])
        jsonschema.validate(records, SCHEMA)
        assert records == [{"content": SECRET}]


def test_service_text_without_items_is_one_record(wanting_rig: Rig) -> None:
    wanting_rig.run(make_call(), settling(Outcome.HIT, Memories(context="a block")))
    records = json.loads(attributes(wanting_rig.span("search_memory"))["gen_ai.memory.records"])
    assert records == [{"content": "a block"}]


def test_content_is_bounded(wanting_rig: Rig) -> None:
    many = Memories(tuple(Memory(None, "x" * 9_000) for _ in range(100)))
    wanting_rig.run(make_call(), settling(Outcome.HIT, many))
    records = json.loads(attributes(wanting_rig.span("search_memory"))["gen_ai.memory.records"])
    assert len(records) == MAX_RECORDS
    assert {len(record["content"]) for record in records} == {MAX_TEXT_CHARS}
