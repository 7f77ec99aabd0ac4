"""One HTTP span and one `http.client.request.duration` per attempt, and the trace headers that it carries."""

from asyncio import CancelledError
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode

from memotel.calls import Call, Identity, Send
from memotel.deadline import monotonic
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.telemetry import names
from memotel.telemetry.guard import note
from memotel.telemetry.instruments import Instruments, install
from memotel.telemetry.tracing import (
    Trace,
    is_http_suppressed,
    trace_headers,
    without_http_spans,
)

Value = str | int
_KINDS = 128
"""More than there are combinations of method, template, status and error type in any one application."""


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
        token = otel_context.attach(started.context) if started.is_attached else None
        try:
            response = await send(call, started.request)
        except BaseException as error:
            recorder.failed(started, error)
            raise
        finally:
            # A task destroyed at interpreter exit closes in another context, where a detach would only log an error.
            if token is not None and otel_context.get_current() is started.context:
                otel_context.detach(token)
        recorder.answered(started, response)
        return response

    return attempt


@dataclass(slots=True)
class _Attempt:
    """One attempt under way: what is sent, and the span and context that watch it."""

    request: HttpRequest
    context: Context
    is_watched: bool
    started_at: float
    span: Span = INVALID_SPAN
    is_attached: bool = False


class _Recorder:
    """Writes the spans and the durations of the attempts of one client."""

    def __init__(self, identity: Identity, propagate: bool, instruments: Instruments) -> None:
        self._identity = identity
        self._propagate = propagate
        self._instruments = instruments
        self._origin = origin(identity)
        # Equal for every attempt of a kind, so made once.
        self._constant = lru_cache(_KINDS)(self._constant_attributes)
        self._labels = lru_cache(_KINDS)(self._labels_of)

    def begin(self, call: Call, request: HttpRequest) -> _Attempt:
        """Count the attempt and start its span."""
        kept = call.trace if isinstance(call.trace, Trace) else Trace(INVALID_SPAN, Context())
        number = kept.next_attempt(request.method, request.template)
        if number > call.attempts:
            call.attempts = number
        context = kept.context
        is_watched = not (context and is_http_suppressed(context))
        started = _Attempt(request, context, is_watched, monotonic())
        if is_watched:
            try:
                self._start_span(started, number)
            except Exception as error:  # noqa: BLE001 # processors may raise anything
                note(error, "the start of an attempt's span")
        return started

    def _start_span(self, started: _Attempt, number: int) -> None:
        request, parent = started.request, started.context
        attributes = self._constant(request.method, request.template)
        if number > 1:
            attributes = {**attributes, names.HTTP_REQUEST_RESEND_COUNT: number - 1}
        started.span = self._instruments.tracer.start_span(
            request.method, parent, SpanKind.CLIENT, attributes
        )
        if started.span is INVALID_SPAN:  # no SDK, and no parent: nothing to attach or to send
            return
        spanned = trace.set_span_in_context(started.span, parent)
        started.context, started.is_attached = without_http_spans(spanned), True
        if self._propagate:
            started.request = request.with_headers(trace_headers(started.span.get_span_context()))

    def _constant_attributes(self, method: str, template: str) -> dict[str, Value]:
        return {
            names.HTTP_REQUEST_METHOD: method,
            names.SERVER_ADDRESS: self._identity.address,
            names.SERVER_PORT: self._identity.port,
            names.URL_FULL: f"{self._origin}{template}",
            names.URL_TEMPLATE: template.partition("?")[0],
        }

    def answered(self, started: _Attempt, response: HttpResponse) -> None:
        """End the attempt with the status that came back; 4xx and 5xx are errors of the attempt."""
        error_type = str(response.status) if response.status >= 400 else None
        self._end(started, error_type, response.status)

    def failed(self, started: _Attempt, error: BaseException) -> None:
        """End the attempt with an exception; one that was abandoned on purpose is no error."""
        is_abandoned = isinstance(error, CancelledError | GeneratorExit)
        self._end(started, None if is_abandoned else type(error).__qualname__, None)

    def _end(self, started: _Attempt, error_type: str | None, status: int | None) -> None:
        if not started.is_watched:
            return
        try:
            self._end_watched(started, error_type, status)
        except Exception as error:  # noqa: BLE001 # processors and meters may raise anything
            note(error, "the end of an attempt")

    def _end_watched(self, started: _Attempt, error_type: str | None, status: int | None) -> None:
        seconds = monotonic() - started.started_at
        if started.span.is_recording():
            _end_span(started.span, error_type, status)
        labels = self._labels(started.request.method, error_type, status)
        self._instruments.record_http(seconds, labels, started.context)

    def _labels_of(
        self, method: str, error_type: str | None, status: int | None
    ) -> dict[str, Value]:
        labels: dict[str, Value] = {
            names.HTTP_REQUEST_METHOD: method,
            names.SERVER_ADDRESS: self._identity.address,
            names.SERVER_PORT: self._identity.port,
        }
        if status is not None:
            labels[names.HTTP_RESPONSE_STATUS_CODE] = status
        if error_type is not None:
            labels[names.ERROR_TYPE] = error_type
        return labels


def _end_span(span: Span, error_type: str | None, status: int | None) -> None:
    if error_type is not None:
        span.set_status(StatusCode.ERROR)
        span.set_attribute(names.ERROR_TYPE, error_type)
    if status is not None:
        span.set_attribute(names.HTTP_RESPONSE_STATUS_CODE, status)
    span.end()


def origin(identity: Identity) -> str:
    """Return scheme, host, port and base path of the service as spans show them, without a query."""
    if not identity.base_url:
        return f"https://{identity.address}:{identity.port}"
    parts = urlsplit(identity.base_url)
    host = f"[{identity.address}]" if ":" in identity.address else identity.address
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"
