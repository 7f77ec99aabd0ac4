"""Content on spans: only where the application asks for it, and never more than a bounded piece."""

import json
from collections.abc import Mapping

from memotel.settings import read_environment
from memotel.telemetry import names
from memotel.values import Memories, Memory, Recall, Save, Search, Write

CAPTURE_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
SPAN_MODES = frozenset({"span_only", "span_and_event", "true"})
MAX_TEXT_CHARS = 1_000
MAX_RECORDS = 20


def is_content_wanted(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the environment asks for message content on spans."""
    env = environ if environ is not None else read_environment()
    return env.get(CAPTURE_VARIABLE, "").strip().lower() in SPAN_MODES


def cut(text: str) -> str:
    """Return at most `MAX_TEXT_CHARS` characters, the last one an ellipsis where something was left out."""
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[: MAX_TEXT_CHARS - 1]}…"


def request_content(request: Recall | Search | Save | Write) -> dict[str, str]:
    """Return the content attributes that are known at the start."""
    match request:
        case Recall(prompt=text) | Search(query=text):
            return {names.GEN_AI_MEMORY_QUERY_TEXT: cut(text)}
        case Write(turn=turn):
            return {names.GEN_AI_MEMORY_RECORDS: json.dumps([{"content": cut(turn.text)}])}
        case Save(text=text):
            return {names.GEN_AI_MEMORY_RECORDS: json.dumps([{"content": cut(text)}])}


def memories_content(memories: Memories) -> dict[str, str]:
    """Return `gen_ai.memory.records` for what came back, a JSON array as the convention's schema says."""
    records = [_record(memory) for memory in memories.items[:MAX_RECORDS]]
    if not records and memories.context:
        records = [{"content": cut(memories.context)}]
    return {names.GEN_AI_MEMORY_RECORDS: json.dumps(records, ensure_ascii=False)}


def _record(memory: Memory) -> dict[str, str | float]:
    record: dict[str, str | float] = {"content": cut(memory.text)}
    if memory.id is not None:
        record["id"] = memory.id
    if memory.score is not None:
        record["score"] = memory.score
    return record
