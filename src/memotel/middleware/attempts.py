"""One HTTP span and one `http.client.request.duration` per attempt, and the trace headers that it carries."""

from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode

from memotel.calls import Call, Identity, Send
from memotel.deadline import monotonic
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.telemetry import names
from memotel.telemetry.guard import guarded
from memotel.telemetry.instruments import Instruments, install
from memotel.telemetry.tracing import (
    Trace,
    is_http_suppressed,
    trace_headers,
    without_http_spans,
)

Value = str | int


def attempts(
    send: Send, identity: Identity, *, propagate: bool, instruments: Instruments | None = None
) -> Send:
    """Wrap `send` with the telemetry of one attempt.

    `propagate` sends `traceparent` and `tracestate` to the service. Runs in the task of the background work, never in
    a generator: the context attached around the send is detached by the task that attached it.
    """
    recorder = _Recorder(identity, propagate, instruments or install())

    async def attempt(call: Call, request: HttpRequest) -> HttpResponse:
        started = recorder.begin(call, request)
        with _attached(started.context):
            try:
                response = await send(call, started.request)
            except BaseException as error:
                recorder.failed(started, error)
                raise
        recorder.answered(started, response)
        return response

    return attempt


@dataclass(slots=True)
class _Attempt:
    """One attempt under way: what is sent, and the span and context that watch it."""

    request: HttpRequest
    is_watched: bool
    span: Span = INVALID_SPAN
    context: Context = field(default_factory=Context)
    started_at: float = field(default_factory=monotonic)


class _Recorder:
    """Writes the spans and the durations of the attempts of one client."""

    def __init__(self, identity: Identity, propagate: bool, instruments: Instruments) -> None:
        self._identity = identity
        self._propagate = propagate
        self._instruments = instruments
        self._origin = origin(identity)

    def begin(self, call: Call, request: HttpRequest) -> _Attempt:
        """Count the attempt and start its span."""
        kept = call.trace if isinstance(call.trace, Trace) else Trace()
        number = kept.next_attempt(request.method, request.template)
        call.attempts = max(call.attempts, number)
        started = _Attempt(request, not is_http_suppressed(kept.context), context=kept.context)
        if started.is_watched:
            self._start_span(started, number)
        return started

    @guarded
    def _start_span(self, started: _Attempt, number: int) -> None:
        request, parent = started.request, started.context
        started.span = self._instruments.tracer.start_span(
            request.method, parent, SpanKind.CLIENT, self._start_attributes(request, number)
        )
        spanned = trace.set_span_in_context(started.span, parent)
        started.context = without_http_spans(spanned)
        if self._propagate:
            headers = (*request.headers, *trace_headers(spanned))
            started.request = replace(request, headers=headers)

    def _start_attributes(self, request: HttpRequest, number: int) -> dict[str, Value]:
        attributes: dict[str, Value] = {
            names.HTTP_REQUEST_METHOD: request.method,
            names.SERVER_ADDRESS: self._identity.address,
            names.SERVER_PORT: self._identity.port,
            names.URL_FULL: f"{self._origin}{request.template}",
            names.URL_TEMPLATE: request.template.partition("?")[0],
        }
        if number > 1:
            attributes[names.HTTP_REQUEST_RESEND_COUNT] = number - 1
        return attributes

    def answered(self, started: _Attempt, response: HttpResponse) -> None:
        """End the attempt with the status that came back; 4xx and 5xx are errors of the attempt."""
        error_type = str(response.status) if response.status >= 400 else None
        self._end(started, error_type, response.status)

    def failed(self, started: _Attempt, error: BaseException) -> None:
        """End the attempt with an exception; one that was abandoned on purpose is no error."""
        is_abandoned = isinstance(error, CancelledError | GeneratorExit)
        self._end(started, None if is_abandoned else type(error).__qualname__, None)

    @guarded
    def _end(self, started: _Attempt, error_type: str | None, status: int | None) -> None:
        if not started.is_watched:
            return
        seconds = monotonic() - started.started_at
        ending: dict[str, Value] = {}
        if status is not None:
            ending[names.HTTP_RESPONSE_STATUS_CODE] = status
        if error_type is not None:
            ending[names.ERROR_TYPE] = error_type
            started.span.set_status(StatusCode.ERROR)
        started.span.set_attributes(ending)
        started.span.end()
        attributes: dict[str, Value] = {
            names.HTTP_REQUEST_METHOD: started.request.method,
            names.SERVER_ADDRESS: self._identity.address,
            names.SERVER_PORT: self._identity.port,
            **ending,
        }
        self._instruments.record_http(seconds, attributes, started.context)


@contextmanager
def _attached(context: Context) -> Iterator[None]:
    token = otel_context.attach(context)
    try:
        yield
    finally:
        # A task destroyed at interpreter exit closes in another context, where a detach would only log an error.
        if otel_context.get_current() is context:
            otel_context.detach(token)


def origin(identity: Identity) -> str:
    """Return scheme, host, port and base path of the service as spans show them, without a query."""
    if not identity.base_url:
        return f"https://{identity.address}:{identity.port}"
    parts = urlsplit(identity.base_url)
    host = f"[{identity.address}]" if ":" in identity.address else identity.address
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"
