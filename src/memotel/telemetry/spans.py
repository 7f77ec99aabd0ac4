"""Every span and attribute, with what it means and when it is there: what the reference in docs/ is made of."""

from dataclasses import dataclass

from memotel.calls import RETRY
from memotel.outcomes import (
    Adapter,
    CircuitState,
    Outcome,
    Part,
    Provider,
    QuotaState,
    WriteOutcome,
)
from memotel.telemetry import names

OUTCOMES = tuple(
    dict.fromkeys(
        [*(str(each) for each in Outcome if each is not Outcome.SKIPPED), *WriteOutcome, RETRY]
    )
)
"""Every `memotel.outcome`; a skipped recall has no span."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a span: its type, when it is there, what it says, and its values where they are closed."""

    name: str
    type: str
    presence: str
    meaning: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Described:
    """One kind of span: its names, what it stands for, and its attributes."""

    title: str
    span_names: tuple[str, ...]
    meaning: str
    attributes: tuple[Attribute, ...]


MEMORY_ATTRIBUTES = (
    Attribute(
        names.GEN_AI_OPERATION_NAME,
        "string",
        "always",
        "The operation; the span's name as well.",
        (names.SEARCH_MEMORY, names.UPSERT_MEMORY, names.CREATE_MEMORY),
    ),
    Attribute(
        names.GEN_AI_PROVIDER_NAME, "string", "always", "The memory service.", tuple(Provider)
    ),
    Attribute(names.GEN_AI_MEMORY_STORE_ID, "string", "where `project_id` is set", "The project."),
    Attribute(
        names.GEN_AI_MEMORY_RECORD_COUNT,
        "int",
        "with an answer, and on every write",
        "Memories that came back; 1 on a write.",
    ),
    Attribute(
        names.GEN_AI_AGENT_NAME,
        "string",
        "where it is known",
        "The agent that recalls, or that spoke. Never a person's name.",
    ),
    Attribute(
        names.GEN_AI_CONVERSATION_ID,
        "string",
        "where there is a session, unless `record_session_id=False`",
        "The session.",
    ),
    Attribute(names.SERVER_ADDRESS, "string", "always", "Host name of the service."),
    Attribute(names.SERVER_PORT, "int", "always", "Its port."),
    Attribute(
        names.MEMOTEL_ADAPTER, "string", "always", "What memory is attached to.", tuple(Adapter)
    ),
    Attribute(
        names.MEMOTEL_OUTCOME,
        "string",
        "at the end",
        "How the call ended for its caller. A write says how this send ended; `retry` is sent again.",
        OUTCOMES,
    ),
    Attribute(names.MEMOTEL_BUDGET, "float", "always", "Seconds that the call may take."),
    Attribute(
        names.MEMOTEL_ATTEMPTS, "int", "at the end", "HTTP attempts; 0 where nothing was sent."
    ),
    Attribute(
        names.MEMOTEL_CIRCUIT_STATE,
        "string",
        "at the end",
        "The circuit breaker, as the call met it.",
        tuple(CircuitState),
    ),
    Attribute(
        names.MEMOTEL_QUOTA_STATE,
        "string",
        "at the end",
        "What is known of the account's plan.",
        tuple(QuotaState),
    ),
    Attribute(
        names.MEMOTEL_TRUNCATED,
        "string[]",
        "where something was cut",
        "What was cut to size.",
        (Part.PROMPT, Part.CONTEXT),
    ),
    Attribute(
        names.MEMOTEL_WRITE_DELAY,
        "float",
        "on deliveries in the background",
        "Seconds since the outbox accepted the write.",
    ),
    Attribute(
        names.ERROR_TYPE,
        "string",
        "where a search or save raised, or a delivery failed; then the status is ERROR",
        "What went wrong. A recall that ends without memories is handled and has none.",
        names.ERROR_TYPES,
    ),
)

CONTENT_ATTRIBUTES = (
    Attribute(
        names.GEN_AI_MEMORY_QUERY_TEXT,
        "string",
        "recalls and searches",
        "What was asked, cut to 1,000 characters.",
    ),
    Attribute(
        names.GEN_AI_MEMORY_RECORDS,
        "string",
        "where there are memories or words",
        "A JSON array of at most 20 records: `content`, and `id` and `score` where the service gave them.",
    ),
)
"""Only where OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT asks for span content."""

HTTP_ATTRIBUTES = (
    Attribute(
        names.HTTP_REQUEST_METHOD,
        "string",
        "always",
        "The method; the span's name as well.",
        ("GET", "POST"),
    ),
    Attribute(names.SERVER_ADDRESS, "string", "always", "Host name of the service."),
    Attribute(names.SERVER_PORT, "int", "always", "Its port."),
    Attribute(
        names.URL_FULL,
        "string",
        "always",
        "The URL, with `{user}` and `{tenant}` in place of the real ones.",
    ),
    Attribute(names.URL_TEMPLATE, "string", "always", "Its path."),
    Attribute(names.HTTP_RESPONSE_STATUS_CODE, "int", "where an answer came", "The status."),
    Attribute(
        names.HTTP_REQUEST_RESEND_COUNT,
        "int",
        "from the second attempt on",
        "How often it was sent before.",
    ),
    Attribute(
        names.ERROR_TYPE,
        "string",
        "with a 4xx, a 5xx or no answer; then the status is ERROR",
        "The status, or the exception's name.",
    ),
)

SPANS = (
    Described(
        "Recall, search",
        (names.SEARCH_MEMORY,),
        "One for each recall and each explicit search, under the span that is current: your agent's.",
        MEMORY_ATTRIBUTES,
    ),
    Described(
        "Write",
        (names.UPSERT_MEMORY, names.CREATE_MEMORY),
        "`upsert_memory` at MemorySync, `create_memory` at Rekall. One for each explicit save, under the current span; and one for "
        "each delivery in the background, a trace of its own that is linked to the span in which the turn was taken in.",
        MEMORY_ATTRIBUTES,
    ),
    Described(
        "HTTP attempt",
        ("POST", "GET"),
        "One for each HTTP attempt, under the span of its call. It ends when the body is read.",
        HTTP_ATTRIBUTES,
    ),
)
"""All of kind CLIENT."""
