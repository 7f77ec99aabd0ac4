"""The attempt span: one per HTTP attempt, under the call's span, with the conventions' attributes and headers."""

import asyncio
from asyncio import CancelledError
from collections.abc import Iterator

import httpx
import pytest
from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NoOpTracerProvider, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from telemetry_rig import (
    FOUND,
    IDENTITY,
    POST,
    Rig,
    answer_ok,
    attributes,
    make_call,
)

from memotel.calls import Call, Identity, Send
from memotel.errors import BudgetExceededError, TransportError
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.middleware.attempts import origin
from memotel.outcomes import Outcome, Provider
from memotel.values import Memories

TENANT = HttpRequest("GET", "/v1/me", "/v1/me")


def run(rig: Rig, send: Send, *requests: HttpRequest, propagate: bool = True) -> Call:
    """Make one call whose work sends `requests` in turn, failures ignored."""
    sending = rig.sending(send, propagate=propagate)

    async def handler(call: Call) -> Memories:
        for request in requests or (POST,):
            try:
                await sending(call, request)
            except (Exception, CancelledError):  # noqa: BLE001, S112 # what failed is read from the spans
                continue
        call.settle(Outcome.HIT, FOUND)
        return FOUND

    call = make_call()

    async def main() -> None:
        await rig.stage(handler)(call)

    asyncio.run(main())
    return call


def failing(error: BaseException) -> Send:
    async def send(_: Call, request: HttpRequest) -> HttpResponse:
        raise error

    return send


def answering(status: int) -> Send:
    async def send(_: Call, request: HttpRequest) -> HttpResponse:
        return HttpResponse(status)

    return send


def test_attempt_span_has_exactly_the_conventions_attributes(rig: Rig) -> None:
    run(rig, answer_ok)
    span = rig.span("POST")
    assert span.kind is SpanKind.CLIENT
    assert attributes(span) == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "server.address": "memory.test",
        "server.port": 8443,
        "url.full": "https://memory.test:8443/base/v1/{user}/recall?limit=5",
        "url.template": "/v1/{user}/recall",
    }
    assert span.status.status_code is StatusCode.UNSET


def test_attempt_span_is_a_child_of_the_calls_span(rig: Rig) -> None:
    run(rig, answer_ok)
    parent, memory = rig.span("POST").parent, rig.span("search_memory").context
    assert parent is not None
    assert memory is not None
    assert (parent.trace_id, parent.span_id) == (memory.trace_id, memory.span_id)


def test_second_attempt_says_that_it_is_a_resend(rig: Rig) -> None:
    call = run(rig, answering(503), TENANT, POST, POST, POST)
    counts = [attributes(s).get("http.request.resend_count") for s in rig.spans if s.name == "POST"]
    assert counts == [None, 1, 2]
    assert "http.request.resend_count" not in attributes(rig.span("GET"))
    assert call.attempts == 3
    assert attributes(rig.span("search_memory"))["memotel.attempts"] == 3


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_error_status_is_an_error_of_the_attempt_alone(rig: Rig, status: int) -> None:
    run(rig, answering(status))
    found = attributes(rig.span("POST"))
    assert found["http.response.status_code"] == status
    assert found["error.type"] == str(status)
    assert rig.span("POST").status.status_code is StatusCode.ERROR
    assert rig.span("search_memory").status.status_code is StatusCode.UNSET


@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        (BudgetExceededError("a secret"), "BudgetExceededError"),
        (TransportError("a secret"), "TransportError"),
        (RuntimeError("a secret"), "RuntimeError"),
    ],
)
def test_failed_attempt_carries_the_exceptions_name_only(
    rig: Rig, error: Exception, error_type: str
) -> None:
    run(rig, failing(error))
    span = rig.span("POST")
    assert attributes(span)["error.type"] == error_type
    assert "http.response.status_code" not in attributes(span)
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None
    assert not span.events


def test_cancelled_attempt_is_no_error(rig: Rig) -> None:
    run(rig, failing(CancelledError()))
    span = rig.span("POST")
    assert span.status.status_code is StatusCode.UNSET
    assert "error.type" not in attributes(span)


def test_request_duration_is_recorded_on_failures_too(rig: Rig) -> None:
    run(rig, answering(503))
    run(rig, failing(BudgetExceededError("late")))
    points = rig.points("http.client.request.duration")
    base = (("http.request.method", "POST"),)
    server = (("server.address", "memory.test"), ("server.port", 8443))
    assert {labels: point.count for labels, point in points.items()} == {
        (("error.type", "503"), *base, ("http.response.status_code", 503), *server): 1,
        (("error.type", "BudgetExceededError"), *base, *server): 1,
    }


def test_request_duration_carries_the_attempts_own_exemplar(rig: Rig) -> None:
    run(rig, answer_ok)
    (point,) = rig.points("http.client.request.duration").values()
    (exemplar,) = point.exemplars
    context = rig.span("POST").context
    assert context is not None
    assert exemplar.span_id == context.span_id


def headers_sent(rig: Rig, *, propagate: bool = True) -> dict[str, str]:
    seen: list[HttpRequest] = []

    async def send(_: Call, request: HttpRequest) -> HttpResponse:
        seen.append(request)
        return HttpResponse(200)

    request = HttpRequest("POST", "/x", "/x", b"{}", (("x-own", "1"),))
    run(rig, send, request, propagate=propagate)
    assert seen[0].body == b"{}"
    return dict(seen[0].headers)


def test_traceparent_of_the_attempt_is_sent_and_baggage_never(rig: Rig) -> None:
    token = otel_context.attach(baggage.set_baggage("user.id", "user-77"))
    try:
        sent = headers_sent(rig)
    finally:
        otel_context.detach(token)
    context = rig.span("POST").context
    assert context is not None
    assert sent.keys() == {"x-own", "traceparent"}
    assert sent["traceparent"].startswith(f"00-{context.trace_id:032x}-{context.span_id:016x}-")


def test_tracestate_travels_along(rig: Rig) -> None:
    remote = trace.SpanContext(
        0xABC, 0xDEF, True, trace.TraceFlags(1), trace.TraceState([("vendor", "x")])
    )
    token = otel_context.attach(
        trace.set_span_in_context(trace.NonRecordingSpan(remote), Context())
    )
    try:
        sent = headers_sent(rig)
    finally:
        otel_context.detach(token)
    assert sent["tracestate"] == "vendor=x"


def test_propagation_can_be_switched_off(rig: Rig) -> None:
    assert headers_sent(rig, propagate=False) == {"x-own": "1"}


def test_sampled_out_call_records_durations_without_spans_or_exemplars() -> None:
    rig = Rig(sampler=ALWAYS_OFF)
    flags = int(headers_sent(rig)["traceparent"].rpartition("-")[2], 16)
    assert not flags & trace.TraceFlags.SAMPLED
    assert rig.spans == []
    (point,) = rig.points("http.client.request.duration").values()
    assert point.count == 1
    assert not point.exemplars


@pytest.mark.parametrize(
    "key", ["_SUPPRESS_HTTP_INSTRUMENTATION_KEY", "_SUPPRESS_INSTRUMENTATION_KEY"]
)
def test_suppression_by_others_is_honoured(rig: Rig, key: str) -> None:
    token = otel_context.attach(otel_context.set_value(getattr(otel_context, key), True))
    try:
        sent = headers_sent(rig)
    finally:
        otel_context.detach(token)
    assert sent == {"x-own": "1"}
    assert "POST" not in [span.name for span in rig.spans]
    assert rig.points("http.client.request.duration") == {}


@pytest.fixture
def instrumented_httpx(rig: Rig) -> Iterator[None]:
    instrumentor = HTTPXClientInstrumentor()
    instrumentor.instrument(tracer_provider=rig.tracers)
    yield
    instrumentor.uninstrument()


@pytest.mark.usefixtures("instrumented_httpx")
def test_official_httpx_instrumentation_adds_no_second_span(rig: Rig) -> None:
    async def send(_: Call, request: HttpRequest) -> HttpResponse:
        # Port 9 of loopback refuses; the official instrumentation would make its span all the same.
        async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport()) as client:
            await client.post("http://127.0.0.1:9/", timeout=5)
        return HttpResponse(200)

    async def bare() -> None:
        with pytest.raises(httpx.ConnectError):
            await send(make_call(), POST)

    run(rig, send)
    assert [span.name for span in rig.spans] == ["POST", "search_memory"]
    rig.exporter.clear()
    asyncio.run(bare())
    assert len(rig.spans) == 1, "the official instrumentation was not active"


def test_context_of_the_task_is_as_before_after_an_attempt(rig: Rig) -> None:
    seen: list[Context] = []
    sending = rig.sending(failing(TransportError("gone")))

    async def main() -> None:
        seen.append(otel_context.get_current())
        with pytest.raises(TransportError):
            await sending(make_call(), POST)
        seen.append(otel_context.get_current())

    asyncio.run(main())
    assert seen[0] == seen[1]


def test_attempt_without_a_calls_span_still_works(rig: Rig) -> None:
    call = make_call()
    asyncio.run(_sent(rig.sending(answer_ok), call))
    assert rig.span("POST").parent is None
    assert call.attempts == 1


def test_without_an_sdk_nothing_is_attached_or_added_to_the_request(rig: Rig) -> None:
    rig.instruments.use_tracers(NoOpTracerProvider())
    seen: list[tuple[HttpRequest, Context]] = []

    async def send(_: Call, request: HttpRequest) -> HttpResponse:
        seen.append((request, otel_context.get_current()))
        return HttpResponse(200)

    call = run(rig, send)
    assert seen == [(POST, Context())]
    assert seen[0][0] is POST
    assert call.future.result(0).outcome is Outcome.HIT
    assert len(rig.points("http.client.request.duration")) == 1


def test_without_an_sdk_the_callers_remote_trace_still_travels(rig: Rig) -> None:
    rig.instruments.use_tracers(NoOpTracerProvider())
    headers = {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"}
    seen: list[HttpRequest] = []

    async def send(_: Call, request: HttpRequest) -> HttpResponse:
        seen.append(request)
        return HttpResponse(200)

    token = otel_context.attach(TraceContextTextMapPropagator().extract(headers))
    try:
        run(rig, send)
    finally:
        otel_context.detach(token)
    assert dict(seen[0].headers) == headers


async def _sent(send: Send, call: Call) -> None:
    await send(call, POST)


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("", "https://memory.test:8443"),
        ("https://api.rekall.app", "https://memory.test"),
        ("http://127.0.0.1:9876/", "http://memory.test:9876"),
        ("https://gw.test/rekall/?token=secret#x", "https://memory.test/rekall"),
    ],
)
def test_origin_shows_no_query(base_url: str, expected: str) -> None:
    identity = Identity(
        Provider.REKALL, IDENTITY.address, IDENTITY.port, None, "create_memory", base_url=base_url
    )
    assert origin(identity) == expected
