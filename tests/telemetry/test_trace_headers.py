"""The trace headers are those of the TraceContext propagator, to the letter, whatever the span."""

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import baggage, trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from memotel.telemetry.tracing import trace_headers


@given(
    trace_id=st.integers(0, 2**128 - 1),
    span_id=st.integers(0, 2**64 - 1),
    flags=st.integers(0, 255),
    entries=st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True),
        st.from_regex(r"[!-+\--<>-~]{1,12}", fullmatch=True),
        max_size=4,
    ),
)
def test_headers_are_the_propagators(
    trace_id: int, span_id: int, flags: int, entries: dict[str, str]
) -> None:
    state = TraceState(list(entries.items()))
    span = SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(flags), trace_state=state)  # fmt: skip
    context = trace.set_span_in_context(
        NonRecordingSpan(span), baggage.set_baggage("user.id", "ada", Context())
    )
    carrier: dict[str, str] = {}
    if span.is_valid:
        TraceContextTextMapPropagator().inject(carrier, context)
    assert dict(trace_headers(span)) == carrier


def test_span_that_is_not_valid_sends_nothing() -> None:
    assert trace_headers(trace.INVALID_SPAN_CONTEXT) == ()
