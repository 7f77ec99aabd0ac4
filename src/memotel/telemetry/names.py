"""Every name that telemetry shows: spans, attributes, metrics, units, labels, buckets. Strings and tuples only.

Conventions: OpenTelemetry GenAI memory span (semantic-conventions-genai at 002c8a6e, in development) and stable
HTTP client conventions (1.44.0). `memotel.*` names are ours and stay stable; dashboards and rules use those.
"""

from dataclasses import dataclass
from enum import StrEnum

from memotel.counts import Count, Gauge
from memotel.outcomes import (
    Adapter,
    CircuitState,
    DedupeKind,
    Operation,
    Outcome,
    Part,
    Phase,
    Provider,
    QuotaEvidence,
    QuotaState,
    RefusalReason,
    RetryCause,
    Speaker,
    WriteOutcome,
)
from memotel.telemetry.naming import prometheus_label, prometheus_name

SCOPE = "memotel"

SEARCH_MEMORY = "search_memory"
UPSERT_MEMORY = "upsert_memory"
CREATE_MEMORY = "create_memory"

GEN_AI_OPERATION_NAME = "gen_ai.operation.name"
GEN_AI_PROVIDER_NAME = "gen_ai.provider.name"
GEN_AI_AGENT_NAME = "gen_ai.agent.name"
GEN_AI_CONVERSATION_ID = "gen_ai.conversation.id"
GEN_AI_MEMORY_STORE_ID = "gen_ai.memory.store.id"
GEN_AI_MEMORY_RECORD_ID = "gen_ai.memory.record.id"
GEN_AI_MEMORY_RECORD_COUNT = "gen_ai.memory.record.count"
GEN_AI_MEMORY_QUERY_TEXT = "gen_ai.memory.query.text"
GEN_AI_MEMORY_RECORDS = "gen_ai.memory.records"
MEMOTEL_ADAPTER = "memotel.adapter"
MEMOTEL_OUTCOME = "memotel.outcome"
MEMOTEL_BUDGET = "memotel.budget"
MEMOTEL_ATTEMPTS = "memotel.attempts"
MEMOTEL_CIRCUIT_STATE = "memotel.circuit.state"
MEMOTEL_QUOTA_STATE = "memotel.quota.state"
MEMOTEL_TRUNCATED = "memotel.truncated"
MEMOTEL_WRITE_DELAY = "memotel.write.delay"
ERROR_TYPE = "error.type"
ERROR_OTHER = "_OTHER"
ERROR_TYPES = (
    "timeout", "connect_error", "protocol_error", "rate_limited", "quota_exceeded", "auth", "invalid_request",
    "server_error", "circuit_open", ERROR_OTHER,
)  # fmt: skip
"""Every `error.type` of a memory span; an HTTP attempt shows a status or an exception's name instead."""
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
HTTP_REQUEST_METHOD = "http.request.method"
HTTP_REQUEST_RESEND_COUNT = "http.request.resend_count"
HTTP_RESPONSE_STATUS_CODE = "http.response.status_code"
URL_FULL = "url.full"
URL_TEMPLATE = "url.template"


class Kind(StrEnum):
    """What sort of instrument a metric is. Counters and gauges are observable."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Label:
    """A label and every value it can have; None where the convention leaves the values open."""

    name: str
    values: tuple[str, ...] | None

    @property
    def prometheus_name(self) -> str:
        """The label as Prometheus sees it."""
        return prometheus_label(self.name)


@dataclass(frozen=True, slots=True)
class Instrument:
    """One metric: its name, what it counts in, and the labels in the order that `Counts` keys have."""

    name: str
    kind: Kind
    unit: str
    labels: tuple[Label, ...]
    description: str
    bounds: tuple[float, ...] = ()

    @property
    def prometheus_name(self) -> str:
        """The family's name in Prometheus; a histogram adds `_bucket`, `_sum` and `_count` to it."""
        return prometheus_name(self.name, self.unit, is_counter=self.kind is Kind.COUNTER)

    @property
    def label_names(self) -> tuple[str, ...]:
        """Label names in order."""
        return tuple(label.name for label in self.labels)


PROVIDER = Label("provider", tuple(Provider))
ADAPTER = Label("adapter", tuple(Adapter))
OUTCOME = Label("outcome", tuple(Outcome))
WRITE_OUTCOME = Label("outcome", tuple(WriteOutcome))
SPEAKER = Label("speaker", tuple(Speaker))
PHASE = Label("phase", tuple(Phase))
CUT_PART = Label("part", (Part.PROMPT, Part.CONTEXT))
SWITCH_PART = Label("part", (Part.RECALL, Part.WRITES))
DEDUPE_KIND = Label("kind", tuple(DedupeKind))
REFUSAL_REASON = Label("reason", tuple(RefusalReason))
OPERATION = Label("operation", tuple(Operation))
RETRY_CAUSE = Label("cause", tuple(RetryCause))
QUOTA_MODE = Label("mode", (QuotaEvidence.STRICT, QuotaEvidence.SILENT))
QUOTA_STATE = Label("state", tuple(QuotaState))
CIRCUIT_STATE = Label("state", tuple(CircuitState))
CIRCUIT_TO = Label("to", tuple(CircuitState))
VERSION = Label("version", None)


def _counter(name: str, unit: str, labels: tuple[Label, ...], description: str) -> Instrument:
    return Instrument(f"memotel.{name}", Kind.COUNTER, unit, labels, description)


def _gauge(name: str, unit: str, labels: tuple[Label, ...], description: str) -> Instrument:
    return Instrument(f"memotel.{name}", Kind.GAUGE, unit, labels, description)


COUNTERS: dict[Count, Instrument] = {
    Count.RECALLS: _counter(
        "recalls",
        "{recall}",
        (PROVIDER, ADAPTER, OUTCOME),
        "Recalls by how they ended for the reply that waited for them.",
    ),
    Count.RECALL_TIMEOUTS: _counter(
        "recall.timeouts",
        "{timeout}",
        (PROVIDER, PHASE),
        "Recalls that met their deadline, by where they were then.",
    ),
    Count.CONTEXT_BYTES: _counter(
        "recall.context.size",
        "By",
        (PROVIDER, ADAPTER),
        "Bytes of memory that were put before models.",
    ),
    Count.TRUNCATED: _counter(
        "recall.truncated",
        "{recall}",
        (PROVIDER, CUT_PART),
        "Recalls whose prompt or context was cut to size.",
    ),
    Count.SEARCHES: _counter(
        "searches",
        "{search}",
        (PROVIDER, ADAPTER, OUTCOME),
        "Explicit searches by how they ended.",
    ),
    Count.LOOP_BLOCKED: _counter(
        "loop.blocked",
        "{recall}",
        (PROVIDER,),
        "Recalls of a synchronous chat that ran inside a running event loop.",
    ),
    Count.ACCEPTED: _counter(
        "writes.accepted",
        "{write}",
        (PROVIDER, ADAPTER, SPEAKER),
        "Writes that the outbox accepted.",
    ),
    Count.ADOPTED: _counter(
        "writes.adopted",
        "{write}",
        (PROVIDER,),
        "Writes taken over from an outbox that another process left behind.",
    ),
    Count.RESENT: _counter(
        "writes.resent",
        "{write}",
        (PROVIDER,),
        "Dead writes that were put back into the outbox on purpose.",
    ),
    Count.HANDED_OVER: _counter(
        "writes.handed_over",
        "{write}",
        (PROVIDER,),
        "Writes that this process left to another one.",
    ),
    Count.WRITES: _counter(
        "writes",
        "{write}",
        (PROVIDER, ADAPTER, SPEAKER, WRITE_OUTCOME),
        "Accepted writes by their final outcome.",
    ),
    Count.DEDUPLICATED: _counter(
        "writes.deduplicated",
        "{write}",
        (PROVIDER, ADAPTER, DEDUPE_KIND),
        "Utterances that were not written a second time.",
    ),
    Count.REFUSED: _counter(
        "writes.refused",
        "{write}",
        (PROVIDER, REFUSAL_REASON),
        "Writes that were never accepted. `internal_error`: a hook failed; the chat went on.",
    ),
    Count.RETRIES: _counter(
        "retries",
        "{retry}",
        (PROVIDER, OPERATION, RETRY_CAUSE),
        "Attempts after the first, by what made them worthwhile.",
    ),
    Count.QUOTA_DEGRADED: _counter(
        "quota.degraded",
        "{operation}",
        (PROVIDER, OPERATION, QUOTA_MODE),
        "Operations that a used-up plan degraded, said by the service or silent.",
    ),
    Count.CIRCUIT_TRANSITIONS: _counter(
        "circuit.transitions",
        "{transition}",
        (PROVIDER, CIRCUIT_TO),
        "Changes of a circuit breaker's state.",
    ),
    Count.OUTBOX_DAMAGED: _counter(
        "outbox.damaged",
        "{file}",
        (PROVIDER,),
        "Outbox files that could not be read and were set aside.",
    ),
    Count.CLIENTS_RENEWED: _counter(
        "clients.renewed",
        "{client}",
        (PROVIDER,),
        "HTTP clients replaced because requests on them outlived their deadlines.",
    ),
}

GAUGES: dict[Gauge, Instrument] = {
    Gauge.OUTBOX_PENDING: _gauge(
        "outbox.pending",
        "{write}",
        (PROVIDER,),
        "Accepted writes without a final outcome: waiting, in flight or parked.",
    ),
    Gauge.OUTBOX_PARKED: _gauge(
        "outbox.parked", "{write}", (PROVIDER,), "Writes that wait for the plan's quota to return."
    ),
    Gauge.OUTBOX_FOREIGN: _gauge(
        "outbox.foreign",
        "{write}",
        (PROVIDER,),
        "Writes of accounts that this process has no client for.",
    ),
    Gauge.OUTBOX_DEGRADED: _gauge(
        "outbox.degraded",
        "{outbox}",
        (PROVIDER,),
        "Outboxes that keep writes in memory because their disk fails.",
    ),
    Gauge.OUTBOX_CAPACITY: _gauge(
        "outbox.capacity", "{write}", (PROVIDER,), "Writes that the outbox may hold."
    ),
    Gauge.OUTBOX_BYTES: _gauge("outbox.size", "By", (PROVIDER,), "Bytes that the outbox holds."),
    Gauge.OUTBOX_OLDEST_AGE: _gauge(
        "outbox.oldest.age", "s", (PROVIDER,), "Age of the oldest write without a final outcome."
    ),
    Gauge.UNACCOUNTED: _gauge(
        "writes.unaccounted",
        "{write}",
        (PROVIDER,),
        "Writes that the conservation law misses; anything but 0 is a defect.",
    ),
    Gauge.QUOTA_STATE: _gauge(
        "quota.state",
        "{account}",
        (PROVIDER, QUOTA_STATE),
        "Accounts of this process by what is known of their plan.",
    ),
    Gauge.RATELIMIT_REMAINING: _gauge(
        "ratelimit.remaining",
        "{request}",
        (PROVIDER,),
        "Requests that the service still allows in its window, least over accounts.",
    ),
    Gauge.CIRCUIT_STATE: _gauge(
        "circuit.state",
        "{account}",
        (PROVIDER, CIRCUIT_STATE),
        "Accounts of this process by the state of their circuit breaker.",
    ),
    Gauge.CREDENTIALS_REJECTED: _gauge(
        "credentials.rejected",
        "{account}",
        (PROVIDER,),
        "Accounts whose credential the service does not accept.",
    ),
    Gauge.PERMITS_IN_USE: _gauge(
        "permits.in_use", "{permit}", (PROVIDER,), "Recalls in flight at the service."
    ),
    Gauge.PERMITS_CAPACITY: _gauge(
        "permits.capacity", "{permit}", (PROVIDER,), "Recalls that may be in flight at once."
    ),
    Gauge.DISABLED: _gauge(
        "disabled", "{switch}", (SWITCH_PART,), "1 where MEMOTEL_DISABLED turned this part off."
    ),
}

BUILD_INFO = _gauge("build.info", "{build}", (VERSION,), "The version of memotel that runs; 1.")

RECALL_BOUNDS = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 1.5, 2.5, 5.5, 10.5,
)  # fmt: skip
"""Never a whole number: Prometheus 2 and 3 print whole bounds differently."""
WRITE_DELAY_BOUNDS = (
    0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.2, 2.5, 5.5, 10.5, 30.5, 60.5, 300.5, 900.5, 3600.5, 21600.5, 86400.5,
)  # fmt: skip
GEN_AI_BOUNDS = (
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
)  # fmt: skip
HTTP_BOUNDS = (
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
)  # fmt: skip

RECALL_DURATION = Instrument(
    "memotel.recall.duration",
    Kind.HISTOGRAM,
    "s",
    (PROVIDER, ADAPTER, OUTCOME),
    "How long replies waited for a recall.",
    RECALL_BOUNDS,
)
WRITE_DELAY = Instrument(
    "memotel.write.delay",
    Kind.HISTOGRAM,
    "s",
    (PROVIDER, WRITE_OUTCOME),
    "Time from the acceptance of a write to its final outcome.",
    WRITE_DELAY_BOUNDS,
)
GEN_AI_DURATION = Instrument(
    "gen_ai.client.operation.duration",
    Kind.HISTOGRAM,
    "s",
    (
        Label(GEN_AI_OPERATION_NAME, (SEARCH_MEMORY, UPSERT_MEMORY, CREATE_MEMORY)),
        Label(GEN_AI_PROVIDER_NAME, tuple(Provider)),
        Label(ERROR_TYPE, ERROR_TYPES),
    ),
    "GenAI operation duration.",
    GEN_AI_BOUNDS,
)
HTTP_DURATION = Instrument(
    "http.client.request.duration",
    Kind.HISTOGRAM,
    "s",
    (
        Label(HTTP_REQUEST_METHOD, ("GET", "POST")),
        Label(SERVER_ADDRESS, None),
        Label(SERVER_PORT, None),
        Label(HTTP_RESPONSE_STATUS_CODE, None),
        Label(ERROR_TYPE, None),
    ),
    "Duration of HTTP client requests.",
    HTTP_BOUNDS,
)
HISTOGRAMS = (RECALL_DURATION, WRITE_DELAY, GEN_AI_DURATION, HTTP_DURATION)
INSTRUMENTS: tuple[Instrument, ...] = (
    *COUNTERS.values(),
    *GAUGES.values(),
    BUILD_INFO,
    *HISTOGRAMS,
)
