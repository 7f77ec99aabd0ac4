"""What telemetry costs: per recall (one memory span, one HTTP span, three histogram records, the counters), and per scrape.

Everything is measured in one run, in rounds that take turns: the same recall without telemetry, the same two spans and
three records made with OpenTelemetry alone (no cheaper way to have them), a bare httpx request, and that request under
the official httpx instrumentation. What is added is the median, over the rounds, of the difference to the plain call of
the same round, in processor time of the calling thread: that of a neighbour on a busy machine is not counted. Wall time
stands in the notes. A scrape is what the endpoint and the ASGI application write; what prometheus_client would need for
the same bytes stands beside it. No network is touched. Run: python -m benchmarks.telemetry_cost
"""

import functools
import itertools
import os
import statistics
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler
from opentelemetry.trace import NoOpTracerProvider, SpanKind
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from benchmarks.harness import Figure, options, report
from benchmarks.pace import client_to_nowhere, pace_note, pace_of
from memotel.calls import Answer, Call, Handler, Identity, Send
from memotel.counts import Counts
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.middleware.attempts import attempts
from memotel.middleware.telemetry import telemetry
from memotel.outcomes import Adapter, Operation, Outcome, Provider, WriteOutcome
from memotel.telemetry import names
from memotel.telemetry.exposition import PrometheusReader
from memotel.telemetry.instruments import Instruments, declare_client
from memotel.telemetry.rendering import render
from memotel.values import Memories, Memory, Recall, Scope

ROUNDS, QUICK_ROUNDS = 21, 7
CALLS, QUICK_CALLS = 200, 100
SCRAPES, QUICK_SCRAPES = 25, 5
LIMITS_US = {"no SDK": 25.0, "sampled out": 100.0, "sampled, exported": 150.0}
SCRAPE_LIMIT_MS = 50.0

WRITES = {Provider.MEMORYSYNC: names.UPSERT_MEMORY, Provider.REKALL: names.CREATE_MEMORY}
STATUSES = (200, 201, 400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504)

PLAIN_RECALL = "recall without telemetry"
PLAIN_REQUEST = "bare httpx request"
OFFICIAL = "httpx instrumentation, "
BARE = "OpenTelemetry alone, "

IDENTITY = Identity(Provider.REKALL, "api.rekall.test", 443, "project", "create_memory")
REQUEST = HttpRequest("POST", "/api/v2/memories/search", "/api/v2/memories/search", b"{}")
FOUND = Memories((Memory("m_1", "likes tea", 0.9),))
RECALL = Recall(Scope("ada", "session"), "which tea do I like?", 5, "assistant")


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of one call: processor time of the thread that makes it, and wall time."""

    cpu_us: float
    wall_us: float


Rounds = dict[str, list[Cost]]


class Nowhere(SpanExporter):
    """An exporter that throws spans away, so that the network is not measured."""

    def export(self, spans: object) -> SpanExportResult:
        assert spans
        return SpanExportResult.SUCCESS


async def answer(_: Call, request: HttpRequest) -> HttpResponse:
    assert request.method == "POST"
    return HttpResponse(200)


def working(send: Send) -> Handler:
    """Return the work of a recall: one request, then its ending."""

    async def handler(call: Call) -> Answer:
        await send(call, REQUEST)
        call.settle(Outcome.HIT, FOUND)
        return FOUND

    return handler


def watched(instruments: Instruments) -> Handler:
    """Return the same work under both telemetry middlewares."""
    send = attempts(answer, IDENTITY, propagate=True, instruments=instruments)
    return telemetry(working(send), IDENTITY, Counts(), instruments=instruments)


def tracers_with(sampler: Sampler) -> TracerProvider:
    """Return an SDK tracer provider with that sampler and a batching exporter."""
    tracers = TracerProvider(sampler=sampler)
    tracers.add_span_processor(BatchSpanProcessor(Nowhere(), max_queue_size=65_536))
    return tracers


def sdk_meters() -> MeterProvider:
    return MeterProvider((InMemoryMetricReader(),))


def instruments_with(sampler: Sampler) -> Instruments:
    """Return instruments on an SDK with that sampler, an exporter and one reader."""
    return Instruments(tracer_provider=tracers_with(sampler), meter_provider=sdk_meters())


def driven(coroutine: Coroutine[Any, Any, object]) -> None:
    """Run a coroutine that never suspends, without the cost of an event loop."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("the coroutine suspended")


def calling(handler: Handler) -> Callable[[], None]:
    """Return one recall through `handler`."""

    async def recall() -> None:
        await handler(
            Call(
                Operation.RECALL,
                RECALL,
                provider=Provider.REKALL,
                adapter=Adapter.AG2,
                budget_s=1.2,
            )
        )

    return lambda: driven(recall())


def requesting(
    tracers: trace.TracerProvider | None = None, meters: metrics.MeterProvider | None = None
) -> Callable[[], None]:
    """Return one httpx request that reaches no network; instrumented where providers are given."""
    client = client_to_nowhere()
    if tracers is not None:
        HTTPXClientInstrumentor.instrument_client(
            client, tracer_provider=tracers, meter_provider=meters
        )

    def request() -> None:
        client.post("https://api.rekall.test/", json={"query": "tea"}).raise_for_status()

    return request


def cases() -> dict[str, Callable[[], None]]:
    """Return everything that is measured, by name."""
    return {
        PLAIN_RECALL: calling(working(answer)),
        "no SDK": calling(watched(Instruments())),
        "sampled out": calling(watched(instruments_with(ALWAYS_OFF))),
        "sampled, exported": calling(watched(instruments_with(ALWAYS_ON))),
        f"{BARE}sampled out": opentelemetry_alone(ALWAYS_OFF),
        f"{BARE}sampled, exported": opentelemetry_alone(ALWAYS_ON),
        PLAIN_REQUEST: requesting(),
        f"{OFFICIAL}no SDK": requesting(NoOpTracerProvider(), NoOpMeterProvider()),
        f"{OFFICIAL}sampled out": requesting(tracers_with(ALWAYS_OFF), sdk_meters()),
        f"{OFFICIAL}sampled, exported": requesting(tracers_with(ALWAYS_ON), sdk_meters()),
    }


def opentelemetry_alone(sampler: Sampler) -> Callable[[], None]:
    """Return the spans and records of one recall, made by hand: what they cost whoever makes them."""
    tracer = tracers_with(sampler).get_tracer(names.SCOPE)
    meter = sdk_meters().get_meter(names.SCOPE)
    provider, address, port = str(IDENTITY.provider), IDENTITY.address, IDENTITY.port
    at_start = {
        names.GEN_AI_OPERATION_NAME: names.SEARCH_MEMORY,
        names.GEN_AI_PROVIDER_NAME: provider,
        names.SERVER_ADDRESS: address,
        names.SERVER_PORT: port,
        names.MEMOTEL_ADAPTER: str(Adapter.AG2),
        names.GEN_AI_MEMORY_STORE_ID: "project",
        names.MEMOTEL_BUDGET: 1.2,
        names.GEN_AI_AGENT_NAME: "assistant",
        names.GEN_AI_CONVERSATION_ID: "session",
    }
    at_end = {
        names.MEMOTEL_OUTCOME: str(Outcome.HIT),
        names.MEMOTEL_ATTEMPTS: 1,
        names.MEMOTEL_CIRCUIT_STATE: "closed",
        names.MEMOTEL_QUOTA_STATE: "ok",
        names.GEN_AI_MEMORY_RECORD_COUNT: 1,
    }
    of_server = {
        names.HTTP_REQUEST_METHOD: REQUEST.method,
        names.SERVER_ADDRESS: address,
        names.SERVER_PORT: port,
    }
    of_attempt = {
        **of_server,
        names.URL_FULL: f"https://{address}:{port}{REQUEST.template}",
        names.URL_TEMPLATE: REQUEST.template,
    }
    of_operation = {
        names.GEN_AI_OPERATION_NAME: names.SEARCH_MEMORY,
        names.GEN_AI_PROVIDER_NAME: provider,
    }
    of_recall = {"provider": provider, "adapter": str(Adapter.AG2), "outcome": str(Outcome.HIT)}
    of_answer = {**of_server, names.HTTP_RESPONSE_STATUS_CODE: 200}
    http, gen_ai, recalls = (
        meter.create_histogram(
            each.name, each.unit, explicit_bucket_boundaries_advisory=each.bounds
        )
        for each in (names.HTTP_DURATION, names.GEN_AI_DURATION, names.RECALL_DURATION)
    )

    def made_by_hand() -> None:
        memory = tracer.start_span(names.SEARCH_MEMORY, Context(), SpanKind.CLIENT, at_start)
        outer = trace.set_span_in_context(memory, Context())
        attempt = tracer.start_span(REQUEST.method, outer, SpanKind.CLIENT, of_attempt)
        inner = trace.set_span_in_context(attempt, outer)
        attempt.set_attribute(names.HTTP_RESPONSE_STATUS_CODE, 200)
        attempt.end()
        http.record(0.2, of_answer, inner)
        memory.set_attributes(at_end)
        memory.end()
        gen_ai.record(0.2, of_operation, outer)
        recalls.record(0.2, of_recall, outer)

    return made_by_hand


def round_of(function: Callable[[], object], calls: int) -> Cost:
    """Return the mean cost of one call over `calls` of them."""
    wall, cpu = time.perf_counter(), time.thread_time()
    for _ in range(calls):
        function()
    cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
    return Cost(cpu / calls * 1e6, wall / calls * 1e6)


def measured(rounds: int, calls: int) -> Rounds:
    """Return the cost of each case in each round; in a round every case has its turn."""
    found = cases()
    for function in found.values():
        round_of(function, calls)
    costs: Rounds = {name: [] for name in found}
    for number in range(rounds):
        order = list(found.items())
        for name, function in order if number % 2 else reversed(order):
            costs[name].append(round_of(function, calls))
    return costs


def added(costs: Rounds, name: str, plain: str) -> Cost:
    """Return the medians of what a case costs more than the plain call of the same round."""
    pairs = list(zip(costs[name], costs[plain], strict=True))
    return Cost(
        statistics.median(case.cpu_us - base.cpu_us for case, base in pairs),
        statistics.median(case.wall_us - base.wall_us for case, base in pairs),
    )


def figures_of_calls(costs: Rounds, pace: float) -> Iterator[Figure]:
    """Yield the plain calls, what memotel adds, and what the official instrumentation adds."""
    for name in (PLAIN_RECALL, PLAIN_REQUEST):
        cost = statistics.median(each.cpu_us for each in costs[name])
        wall = statistics.median(each.wall_us for each in costs[name])
        yield Figure(name, cost, "us", note=f"wall {wall:.1f} us")
    for name, limit in LIMITS_US.items():
        ours = added(costs, name, PLAIN_RECALL)
        theirs = added(costs, f"{OFFICIAL}{name}", PLAIN_REQUEST)
        note = (
            f"wall {ours.wall_us:.1f} us; {ours.cpu_us / theirs.cpu_us:.2f} of the official one's; "
        )
        note += pace_note(limit, "us", pace)
        yield Figure(f"added to a recall, {name}", ours.cpu_us, "us", limit * pace, note=note)
    for name in LIMITS_US:
        if alone := costs.get(f"{BARE}{name}"):
            cost = statistics.median(each.cpu_us for each in alone)
            wall = statistics.median(each.wall_us for each in alone)
            note = f"wall {wall:.1f} us; the same spans and records, and nothing else"
            yield Figure(f"{BARE}{name}", cost, "us", note=note)
    for name in LIMITS_US:
        theirs = added(costs, f"{OFFICIAL}{name}", PLAIN_REQUEST)
        note = f"wall {theirs.wall_us:.1f} us; one span and one histogram record"
        yield Figure(
            f"added to a request by the official {OFFICIAL}{name}", theirs.cpu_us, "us", note=note
        )


def registry_of(pairs: Iterable[tuple[Provider, Adapter]]) -> CollectorRegistry:
    """Return a registry with every series that the closed labels allow to clients of these kinds, at one address."""
    registry, counts = CollectorRegistry(), Counts()
    instruments = Instruments(
        tracer_provider=NoOpTracerProvider(),
        meter_provider=MeterProvider((PrometheusReader(registry),)),
        counts=lambda: counts,
    )
    for provider, adapter in pairs:
        declare_client(counts, provider, adapter)
        for outcome in Outcome:
            instruments.record_recall(0.2, (provider, adapter, outcome), None)
        for ending in WriteOutcome:
            instruments.record_write_delay(0.2, provider, ending)
        for operation in (names.SEARCH_MEMORY, WRITES[provider]):
            for error in names.ERROR_TYPES:
                labels = {
                    names.GEN_AI_OPERATION_NAME: operation,
                    names.GEN_AI_PROVIDER_NAME: str(provider),
                    names.ERROR_TYPE: error,
                }
                instruments.record_operation(0.2, labels, None)
    for status in STATUSES:
        instruments.record_http(0.2, {names.HTTP_RESPONSE_STATUS_CODE: status}, None)
    return registry


def figures_of_scrapes(scrapes: int) -> Iterator[Figure]:
    """Yield the time of a scrape: of a process with one client, and of one with clients of every kind."""
    every = list(itertools.product(Provider, Adapter))
    kinds = {"one client": every[:1], "clients of every kind": every}
    for kind, pairs in kinds.items():
        registry = registry_of(pairs)
        for shape, library in (("text", generate_latest), ("OpenMetrics", generate_openmetrics)):
            write = functools.partial(render, registry, is_openmetrics=shape == "OpenMetrics")
            costs = [round_of(write, 1) for _ in range(scrapes)]
            theirs = [round_of(functools.partial(library, registry), 1) for _ in range(scrapes)]
            cpu_ms, wall_ms, their_ms = (
                statistics.median(each) / 1e3
                for each in (
                    (cost.cpu_us for cost in costs),
                    (cost.wall_us for cost in costs),
                    (cost.cpu_us for cost in theirs),
                )
            )
            series = sum(not line.startswith(b"#") for line in write().splitlines())
            note = (
                f"wall {wall_ms:.1f} ms; {series} series, buckets counted; "
                f"through prometheus_client {their_ms:.1f} ms"
            )
            yield Figure(f"scrape, {kind}, {shape}", cpu_ms, "ms", SCRAPE_LIMIT_MS, note=note)


def main() -> None:
    asked = options(__doc__)
    os.environ.setdefault("OTEL_SEMCONV_STABILITY_OPT_IN", "http")
    rounds, calls = asked.of(ROUNDS, QUICK_ROUNDS), asked.of(CALLS, QUICK_CALLS)
    costs = measured(rounds, calls)
    pace = pace_of([statistics.median(each.cpu_us for each in costs[PLAIN_REQUEST])])
    figures = [
        *figures_of_calls(costs, pace),
        *figures_of_scrapes(asked.of(SCRAPES, QUICK_SCRAPES)),
    ]
    title = f"What telemetry costs: medians of {rounds} rounds of {calls} calls, processor time"
    report(title, figures, asked)


if __name__ == "__main__":
    main()
