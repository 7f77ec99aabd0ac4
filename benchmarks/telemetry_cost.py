"""What telemetry costs a recall: one memory span, one HTTP span, three histogram records, the counters.

Compared in one run with the same call without telemetry, and with a bare httpx request as the yardstick. Medians over
rounds that take turns, so that a busy machine slows all alike. Run: python benchmarks/telemetry_cost.py
"""

import statistics
import time
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler

from memotel.calls import Answer, Call, Handler, Identity, Send
from memotel.counts import Counts
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.middleware.attempts import attempts
from memotel.middleware.telemetry import telemetry
from memotel.outcomes import Adapter, Operation, Outcome, Provider
from memotel.telemetry.instruments import Instruments
from memotel.values import Memories, Memory, Recall, Scope

ROUNDS = 15
CALLS = 1_000
REFERENCE_US = 105.0
"""A bare httpx request on the quiet machine where the limits were set; costs are shown on that scale as well."""
LIMITS_US = {"no SDK": 25.0, "sampled out": 100.0, "sampled, exported": 150.0}

IDENTITY = Identity(Provider.REKALL, "api.rekall.test", 443, "project", "create_memory")
REQUEST = HttpRequest("POST", "/api/v2/memories/search", "/api/v2/memories/search", b"{}")
FOUND = Memories((Memory("m_1", "likes tea", 0.9),))
RECALL = Recall(Scope("ada", "session"), "which tea do I like?", 5, "assistant")


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


def instruments_with(sampler: Sampler) -> Instruments:
    """Return instruments on an SDK with that sampler, an exporter and one reader."""
    tracers = TracerProvider(sampler=sampler)
    tracers.add_span_processor(BatchSpanProcessor(Nowhere(), max_queue_size=65_536))
    meters = MeterProvider((InMemoryMetricReader(),))
    return Instruments(tracer_provider=tracers, meter_provider=meters)


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


def bare_request() -> Callable[[], None]:
    """Return one httpx request that reaches no network: the yardstick."""
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json={}))
    client = httpx.Client(transport=transport)

    def request() -> None:
        client.post("https://api.rekall.test/", json={"query": "tea"}).raise_for_status()

    return request


def microseconds(function: Callable[[], None]) -> float:
    """Return the mean time of one call over `CALLS` calls: that of this thread's processor, not of its neighbours."""
    started = time.thread_time()
    for _ in range(CALLS):
        function()
    return (time.thread_time() - started) / CALLS * 1e6


def main() -> None:
    cases = {
        "bare httpx request": bare_request(),
        "recall without telemetry": calling(working(answer)),
        "no SDK": calling(watched(Instruments())),
        "sampled out": calling(watched(instruments_with(ALWAYS_OFF))),
        "sampled, exported": calling(watched(instruments_with(ALWAYS_ON))),
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, function in cases.items():
            times[name].append(microseconds(function))
    medians = {name: statistics.median(found) for name, found in times.items()}
    base, bare = medians["recall without telemetry"], medians["bare httpx request"]
    print(f"Medians of {ROUNDS} rounds of {CALLS} calls, in microseconds of processor time")
    print(f"  bare httpx request        {bare:7.1f}")
    print(f"  recall without telemetry  {base:7.1f}")
    print("Telemetry of one recall, on top of the recall without it")
    print(f"{'':20}   here   where a bare request takes {REFERENCE_US:.0f}")
    for name, limit in LIMITS_US.items():
        cost = medians[name] - base
        scaled = cost * REFERENCE_US / bare
        verdict = "within" if scaled <= limit else "OVER"
        print(f"  {name:18} {cost:6.1f}   {scaled:6.1f}  {verdict} the stated {limit:.0f}")


if __name__ == "__main__":
    main()
