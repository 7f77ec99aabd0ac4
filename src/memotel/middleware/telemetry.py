"""The outermost stage: one memory span per call, its metrics, and its counters.

It decides nothing: whoever settles the call says how it ended, on whatever thread, and the span ends there.
No context is attached across an await; what the attempts below need travels in `call.trace`.
"""

import time
from asyncio import CancelledError
from functools import lru_cache

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode

from memotel.calls import Answer, Call, Handler, Identity, Settlement
from memotel.counts import Count, Counts
from memotel.errors import MemotelError
from memotel.outcomes import Adapter, Operation, Outcome, Provider, Speaker, WriteOutcome
from memotel.telemetry import content, names
from memotel.telemetry.guard import guarded, note
from memotel.telemetry.instruments import Instruments, install
from memotel.telemetry.tracing import Trace, current_traceparent, is_suppressed, link_to
from memotel.values import Memories, Write

__all__ = ["current_traceparent", "telemetry"]

Value = str | int | float | tuple[str, ...]

_KINDS = 128
"""More than there are combinations of operation, adapter and error type."""
_TERMINAL = frozenset(map(str, WriteOutcome))
_ERROR_BY_OUTCOME: dict[str, str] = {
    Outcome.TIMEOUT: "timeout",
    Outcome.UNAVAILABLE: "server_error",
    Outcome.RATE_LIMITED: "rate_limited",
    Outcome.QUOTA: "quota_exceeded",
    Outcome.REJECTED: "invalid_request",
    Outcome.CIRCUIT_OPEN: "circuit_open",
    Outcome.SHED: names.ERROR_OTHER,
    Outcome.INTERNAL_ERROR: names.ERROR_OTHER,
}
"""What a call that ended without an answer and without its error is called."""


def telemetry(
    next_handler: Handler,
    identity: Identity,
    counts: Counts,
    *,
    instruments: Instruments | None = None,
) -> Handler:
    """Wrap `next_handler` with the memory span and the counters of a call.

    `instruments` are those of the process unless given.
    """
    stage = _Stage(identity, counts, instruments or install())

    async def handle(call: Call) -> Answer:
        stage.start(call)
        return await next_handler(call)

    return handle


class _Stage:
    """Starts and ends the spans of one client."""

    def __init__(self, identity: Identity, counts: Counts, instruments: Instruments) -> None:
        self._identity = identity
        self._counts = counts
        self._instruments = instruments
        self._is_content_wanted = content.is_content_wanted()
        # Equal for every call of a kind, so made once; the keys are members of closed enums.
        self._constant = lru_cache(_KINDS)(self._constant_attributes)
        self._operation_labels = lru_cache(_KINDS)(self._labels_of_operation)

    def start(self, call: Call) -> None:
        """Start the call's span and be told of its end; the call goes on whatever telemetry does."""
        call.on_settle = self._finish
        try:
            call.trace = self._begin(call)
        except Exception as error:  # noqa: BLE001 # processors may raise anything
            note(error, "the start of a memory span")

    def _begin(self, call: Call) -> Trace:
        current = otel_context.get_current()
        if current and is_suppressed(current):
            return Trace(INVALID_SPAN, current)
        request = call.request
        is_write = isinstance(request, Write)
        parent = Context() if is_write else current
        span = self._instruments.tracer.start_span(
            span_name(call.operation, self._identity),
            parent,
            SpanKind.CLIENT,
            self._start_attributes(call),
            link_to(request.trace) if isinstance(request, Write) else (),
        )
        if span is INVALID_SPAN:  # no SDK, and no parent: nothing to hand on
            return Trace(span, parent)
        if self._is_content_wanted and span.is_recording():
            span.set_attributes(content.request_content(request))
        return Trace(span, trace.set_span_in_context(span, parent))

    def _constant_attributes(self, operation: Operation, adapter: Adapter) -> dict[str, Value]:
        identity = self._identity
        attributes: dict[str, Value] = {
            names.GEN_AI_OPERATION_NAME: span_name(operation, identity),
            names.GEN_AI_PROVIDER_NAME: str(identity.provider),
            names.SERVER_ADDRESS: identity.address,
            names.SERVER_PORT: identity.port,
            names.MEMOTEL_ADAPTER: str(adapter),
        }
        if identity.store_id:
            attributes[names.GEN_AI_MEMORY_STORE_ID] = identity.store_id
        return attributes

    def _start_attributes(self, call: Call) -> dict[str, Value]:
        identity = self._identity
        attributes = self._constant(call.operation, call.adapter).copy()
        attributes[names.MEMOTEL_BUDGET] = float(call.budget_s)
        if agent := agent_name(call):
            attributes[names.GEN_AI_AGENT_NAME] = agent
        if identity.record_session_id and (session := call.scope.session_id):
            attributes[names.GEN_AI_CONVERSATION_ID] = session
        return attributes

    def _finish(self, call: Call, settlement: Settlement) -> None:
        self._count(call, settlement)
        kept = call.trace if isinstance(call.trace, Trace) else Trace(INVALID_SPAN, Context())
        error_type = error_type_of(call.operation, settlement)
        try:
            if kept.span.is_recording():
                self._end_span(call, settlement, kept.span, error_type)
        except Exception as error:  # noqa: BLE001 # processors may raise anything
            note(error, "the end of a memory span")
        try:
            self._record(call, settlement, kept.context, error_type)
        except Exception as error:  # noqa: BLE001 # meters may raise anything
            note(error, "the metrics of a call")

    def _count(self, call: Call, settlement: Settlement) -> None:
        provider, adapter = call.provider, call.adapter
        outcome = str(settlement.outcome)
        operation = call.operation
        if operation is not Operation.RECALL:
            if operation is Operation.SEARCH:
                self._counts.add(Count.SEARCHES, provider, adapter, outcome)
            return
        recalled = (Count.RECALLS, (provider, adapter, outcome), 1)
        if outcome == Outcome.TIMEOUT:
            self._counts.apply(recalled, (Count.RECALL_TIMEOUTS, (provider, call.phase), 1))
        else:
            self._counts.apply(recalled)

    def _end_span(
        self, call: Call, settlement: Settlement, span: Span, error_type: str | None
    ) -> None:
        attributes = self._end_attributes(call, settlement)
        if error_type is not None:
            attributes[names.ERROR_TYPE] = error_type
            span.set_status(StatusCode.ERROR)
        span.set_attributes(attributes)
        span.end()

    def _end_attributes(self, call: Call, settlement: Settlement) -> dict[str, Value]:
        attributes: dict[str, Value] = {
            names.MEMOTEL_OUTCOME: str(settlement.outcome),
            names.MEMOTEL_ATTEMPTS: call.attempts,
            names.MEMOTEL_CIRCUIT_STATE: str(call.circuit),
            names.MEMOTEL_QUOTA_STATE: str(call.quota),
        }
        if call.cuts:
            attributes[names.MEMOTEL_TRUNCATED] = tuple(map(str, call.cuts))
        answer = settlement.answer
        if isinstance(answer, Memories):
            attributes[names.GEN_AI_MEMORY_RECORD_COUNT] = len(answer.items)
            if self._is_content_wanted:
                attributes |= content.memories_content(answer)
        elif call.operation in (Operation.SAVE, Operation.WRITE):
            attributes[names.GEN_AI_MEMORY_RECORD_COUNT] = 1
        if isinstance(call.request, Write):
            attributes[names.MEMOTEL_WRITE_DELAY] = delay_s(call.request)
        return attributes

    def _record(
        self, call: Call, settlement: Settlement, context: Context, error_type: str | None
    ) -> None:
        instruments, outcome = self._instruments, settlement.outcome
        labels = self._operation_labels(call.operation, error_type)
        instruments.record_operation(settlement.duration_s, labels, context)
        if call.operation is Operation.RECALL:
            of_recall = (call.provider, call.adapter, outcome)
            instruments.record_recall(settlement.duration_s, of_recall, context)
        elif isinstance(call.request, Write) and outcome in _TERMINAL:
            seconds = delay_s(call.request)
            instruments.record_write_delay(seconds, call.provider, outcome, context)

    def _labels_of_operation(self, operation: Operation, error_type: str | None) -> dict[str, str]:
        labels = {
            names.GEN_AI_OPERATION_NAME: span_name(operation, self._identity),
            names.GEN_AI_PROVIDER_NAME: str(self._identity.provider),
        }
        if error_type is not None:
            labels[names.ERROR_TYPE] = error_type
        return labels


@guarded
def record_unsent_end(provider: Provider, write: Write, outcome: WriteOutcome) -> None:
    """Record the delay of a write that ended without a send of its own: too old, given up, dropped at close."""
    install().record_write_delay(delay_s(write), provider, outcome)


def span_name(operation: Operation, identity: Identity) -> str:
    """Return `gen_ai.operation.name`, which is the span's name too."""
    if operation in (Operation.RECALL, Operation.SEARCH):
        return names.SEARCH_MEMORY
    return identity.write_operation


def agent_name(call: Call) -> str | None:
    """Return the agent behind a call; a person's name is never shown."""
    if isinstance(call.request, Write):
        turn = call.request.turn
        return turn.speaker_name if turn.speaker is Speaker.AI else None
    return call.agent


def delay_s(write: Write) -> float:
    """Return the seconds since a write was accepted, never less than zero (wall clocks can step back)."""
    return max(time.time() - write.accepted_at, 0.0)


def error_type_of(operation: Operation, settlement: Settlement) -> str | None:
    """Return the `error.type` of a call that raises, None where it answers.

    A recall that ends without memories is handled: its reply goes on. A cancelled call is no error either.
    """
    if operation is Operation.RECALL:
        return None
    error = settlement.error
    if settlement.outcome == Outcome.CANCELLED or isinstance(error, CancelledError):
        return None
    if error is not None:
        return error.error_type if isinstance(error, MemotelError) else names.ERROR_OTHER
    return None if settlement.answer is not None else _ERROR_BY_OUTCOME.get(settlement.outcome)
