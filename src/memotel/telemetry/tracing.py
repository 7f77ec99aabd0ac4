"""What one call keeps of its trace, and how a context travels as a `traceparent` string."""

from dataclasses import dataclass, field

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from memotel.telemetry.guard import guarded

# The API has no public name for these two; instrumentations all take them from here.
_SUPPRESS_KEY: str = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress")
_SUPPRESS_HTTP_KEY: str = getattr(otel_context, "_SUPPRESS_HTTP_INSTRUMENTATION_KEY", "suppress")
_SUPPRESS_PLAIN_KEY = "suppress_instrumentation"
_ALL = frozenset({_SUPPRESS_KEY, _SUPPRESS_PLAIN_KEY})
_HTTP = _ALL | {_SUPPRESS_HTTP_KEY}

_TRACEPARENT = "00-%032x-%016x-%02x"
"""W3C Trace Context, version 00."""

_propagator = TraceContextTextMapPropagator()


@dataclass(slots=True)
class Trace:
    """The telemetry of one call: its span, the context with that span set, and what was sent so far.

    `sent` counts attempts by method and template, so that a tenant look-up is no resend of the recall it serves.
    """

    span: Span
    context: Context
    sent: dict[tuple[str, str], int] = field(default_factory=dict)

    def next_attempt(self, method: str, template: str) -> int:
        """Count one attempt at this request and return its number, from 1."""
        key = (method, template)
        self.sent[key] = self.sent.get(key, 0) + 1
        return self.sent[key]


def is_suppressed(context: Context) -> bool:
    """Whether somebody asked for no instrumentation in this context."""
    return not _ALL.isdisjoint(context) and any(map(context.get, _ALL))


def is_http_suppressed(context: Context) -> bool:
    """Whether somebody asked for no HTTP spans in this context."""
    return not _HTTP.isdisjoint(context) and any(map(context.get, _HTTP))


def without_http_spans(context: Context) -> Context:
    """Return the context with HTTP instrumentation of others switched off: our attempt span is the one."""
    return otel_context.set_value(_SUPPRESS_HTTP_KEY, True, context)


@guarded
def current_traceparent() -> str | None:
    """Return the `traceparent` of the current span, or None where there is none."""
    current = otel_context.get_current()
    if not current:
        return None
    span = trace.get_current_span(current).get_span_context()
    if not span.is_valid:
        return None
    return _TRACEPARENT % (span.trace_id, span.span_id, span.trace_flags)


@guarded
def current_ids() -> dict[str, str]:
    """Return `trace_id` and `span_id` of the current span as hexadecimal, or nothing where there is none."""
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return {}
    return {"trace_id": f"{span.trace_id:032x}", "span_id": f"{span.span_id:016x}"}


def link_to(traceparent: str | None) -> tuple[Link, ...]:
    """Return a link to the span that a `traceparent` names; none where it is None or not valid."""
    if traceparent is None:
        return ()
    context = _propagator.extract({"traceparent": traceparent}, Context())
    span = trace.get_current_span(context).get_span_context()
    return (Link(span),) if span.is_valid else ()


def trace_headers(span: SpanContext) -> tuple[tuple[str, str], ...]:
    """Return `traceparent` and `tracestate` of a span, as the TraceContext propagator writes them; never baggage."""
    trace_id, span_id, _, flags, state, is_valid = span
    if not is_valid:
        return ()
    parent = ("traceparent", _TRACEPARENT % (trace_id, span_id, flags))
    return (parent, ("tracestate", state.to_header())) if state else (parent,)
