"""Real calls under real telemetry, on providers of one test: what it recorded can be read back exactly."""

import asyncio
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, Metric, MetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler

from memotel.calls import Answer, Call, Handler, Identity, Send
from memotel.counts import Counts
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.middleware.attempts import attempts
from memotel.middleware.telemetry import telemetry
from memotel.outcomes import Adapter, Operation, Outcome, Provider, Speaker, WriteOutcome
from memotel.telemetry.instruments import Instruments
from memotel.values import (
    Memories,
    Memory,
    Recall,
    Save,
    Scope,
    Search,
    Turn,
    Write,
    WriteAnswer,
)

SECRET = "the cat sleeps on the radiator"
SCOPE = Scope("user-77", "session-5")
FOUND = Memories((Memory("m_1", SECRET, 0.9), Memory("m_2", "tea", None)))
STORED = WriteAnswer(WriteOutcome.STORED)
POST = HttpRequest("POST", "/v1/user-77/recall?limit=5", "/v1/{user}/recall?limit=5")
IDENTITY = Identity(
    Provider.MEMORYSYNC,
    "memory.test",
    8443,
    "project-1",
    "upsert_memory",
    base_url="https://memory.test:8443/base",
)
REQUESTS: dict[Operation, Recall | Search | Save] = {
    Operation.RECALL: Recall(SCOPE, SECRET, 5, "planner"),
    Operation.SEARCH: Search(SCOPE, SECRET, 5, "planner"),
    Operation.SAVE: Save(SCOPE, SECRET),
}


class Rig:
    """Providers, instruments and counters of one test."""

    def __init__(
        self,
        *,
        identity: Identity = IDENTITY,
        sampler: Sampler = ALWAYS_ON,
        readers: tuple[MetricReader, ...] = (),
    ) -> None:
        self.identity = identity
        self.counts = Counts()
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider((self.reader, *readers), shutdown_on_exit=False)
        self.instruments = Instruments(
            tracer_provider=self.tracers, meter_provider=self.meters, counts=lambda: self.counts
        )

    def stage(self, next_handler: Handler) -> Handler:
        """Wrap a handler in the memory span."""
        return telemetry(next_handler, self.identity, self.counts, instruments=self.instruments)

    def sending(self, send: Send, *, propagate: bool = True) -> Send:
        """Wrap a send in the attempt span."""
        return attempts(send, self.identity, propagate=propagate, instruments=self.instruments)

    def run(self, call: Call, work: Callable[[Call], Answer | None]) -> Call:
        """Run `call` through the memory span; `work` settles it."""

        async def handler(called: Call) -> Answer:
            return work(called) or Memories()

        asyncio.run(_awaited(self.stage(handler), call))
        return call

    @property
    def spans(self) -> list[ReadableSpan]:
        """Finished spans, in the order that they ended."""
        return list(self.exporter.get_finished_spans())

    def span(self, name: str) -> ReadableSpan:
        """Return the one finished span of that name."""
        (found,) = (span for span in self.spans if span.name == name)
        return found

    def metrics(self) -> dict[str, Metric]:
        """Collect once; return the metrics by name."""
        data = self.reader.get_metrics_data()
        assert data is not None
        return {
            metric.name: metric
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def points(self, name: str) -> dict[tuple[tuple[str, Any], ...], Any]:
        """Collect once; return one metric's points by their sorted attributes."""
        metric = self.metrics().get(name)
        points = metric.data.data_points if metric else ()
        return {tuple(sorted((point.attributes or {}).items())): point for point in points}


async def _awaited(handler: Handler, call: Call) -> None:
    await handler(call)


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """Return a span's attributes."""
    return dict(span.attributes or {})


def make_call(operation: Operation = Operation.RECALL, **changes: Any) -> Call:
    """Return a call of one of the waiting kinds."""
    values = {"provider": Provider.MEMORYSYNC, "adapter": Adapter.AG2, "budget_s": 1.2}
    return Call(operation, REQUESTS[operation], **(values | changes))


def make_write(
    *,
    age_s: float = 0.0,
    trace: str | None = None,
    speaker: Speaker = Speaker.AI,
    name: str | None = "planner",
) -> Call:
    """Return the delivery of a write that was accepted `age_s` ago."""
    turn = Turn(SCOPE, speaker, SECRET, name)
    write = Write(turn, "key", "account", time.time() - age_s, Adapter.AG2, trace=trace)
    return Call(
        Operation.WRITE,
        write,
        provider=Provider.MEMORYSYNC,
        adapter=Adapter.AG2,
        budget_s=5.0,
    )


def settling(outcome: Any, answer: Answer | None = None, error: BaseException | None = None) -> Any:
    """Return work that ends its call so."""

    def work(call: Call) -> Answer | None:
        call.settle(outcome, answer, error)
        return answer

    return work


hit = settling(Outcome.HIT, FOUND)


async def answer_ok(_: Call, request: HttpRequest) -> HttpResponse:
    """A send that always succeeds."""
    assert request.method
    return HttpResponse(200)


def run_python(
    script: str, *, env: Mapping[str, str] | None = None, is_ok: bool = True
) -> "subprocess.CompletedProcess[str]":
    """Run a script in a fresh interpreter, where global providers and forks disturb no other test."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        env=dict(env) if env is not None else None,
        check=False,
    )
    assert (done.returncode == 0) is is_ok, f"{done.stdout}\n{done.stderr}"
    return done
