"""Telemetry that fails is counted and said once; calls go on."""

import asyncio
import logging
from typing import Any

import pytest
from opentelemetry.context import Context
from opentelemetry.metrics import Histogram, Meter, NoOpMeter, NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, MetricsData
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from prometheus_client import CollectorRegistry, Counter, generate_latest
from telemetry_rig import IDENTITY, POST, Rig, answer_ok, hit, make_call

from memotel.calls import Call
from memotel.counts import Count
from memotel.notices import Event
from memotel.outcomes import Outcome
from memotel.telemetry import guard
from memotel.telemetry.exposition import PrometheusReader
from memotel.telemetry.guard import Faults, guarded
from memotel.telemetry.instruments import Instruments
from memotel.values import Memories

SECRET = "the text of a memory"


class Broken(SpanProcessor):
    """A processor that fails wherever it can."""

    def __init__(self, *, at_start: bool) -> None:
        self.at_start = at_start

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if self.at_start:
            raise RuntimeError(SECRET)

    def on_end(self, span: ReadableSpan) -> None:
        raise RuntimeError(SECRET)


class BrokenHistogram(Histogram):
    """A histogram that cannot record."""

    def __init__(self) -> None:
        """Nothing to keep."""

    def record(self, *_: Any, **__: Any) -> None:
        raise RuntimeError(SECRET)


class BrokenMeter(NoOpMeter):
    """A meter of broken histograms."""

    def create_histogram(self, *_: Any, **__: Any) -> Histogram:
        return BrokenHistogram()


class BrokenMeters(NoOpMeterProvider):
    """A provider of broken meters."""

    def get_meter(self, name: str, *_: Any, **__: Any) -> Meter:
        return BrokenMeter(name)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    fresh = Faults()
    monkeypatch.setattr(guard, "faults", fresh)
    return fresh


@pytest.mark.parametrize("at_start", [True, False])
def test_broken_processor_and_meter_never_break_a_call(
    rig: Rig, faults: Faults, caplog: pytest.LogCaptureFixture, at_start: bool
) -> None:
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(Broken(at_start=at_start))
    rig.instruments = Instruments(
        tracer_provider=tracers, meter_provider=BrokenMeters(), counts=lambda: rig.counts
    )
    sending = rig.sending(answer_ok)
    answers: list[Memories] = []

    async def main(call: Call) -> None:
        async def handler(called: Call) -> Memories:
            assert (await sending(called, POST)).status == 200
            answer = hit(called)
            assert isinstance(answer, Memories)
            return answer

        answer = await rig.stage(handler)(call)
        assert isinstance(answer, Memories)
        answers.append(answer)

    call = make_call()
    with caplog.at_level(logging.WARNING, "memotel.telemetry"):
        asyncio.run(main(call))
        asyncio.run(main(make_call()))
    assert call.future.result(0).outcome is Outcome.HIT
    assert len(answers) == 2
    assert rig.counts.total(Count.RECALLS, IDENTITY.provider) == 2
    assert faults.count >= 4
    (record,) = caplog.records
    assert record.getMessage().startswith("telemetry.failed: in ")
    assert record.__dict__["event"] == Event.TELEMETRY_FAILED == "telemetry.failed"
    assert "RuntimeError" in record.getMessage()
    assert SECRET not in caplog.text


def test_guarded_lets_what_is_no_exception_pass(faults: Faults) -> None:
    @guarded
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert faults.count == 0


def test_guarded_returns_what_the_function_returns(faults: Faults) -> None:
    assert guarded(len)("abc") == 3
    assert guarded(int)("no number") is None
    assert faults.count == 1


class BrokenExporter(SpanExporter):
    """An exporter that cannot send."""

    def export(self, spans: object) -> SpanExportResult:
        raise RuntimeError(f"{len(str(spans))} bytes not sent")


@pytest.mark.parametrize("processor", [SimpleSpanProcessor, BatchSpanProcessor])
def test_exporter_that_fails_never_breaks_a_call(
    rig: Rig, processor: type[SimpleSpanProcessor] | type[BatchSpanProcessor]
) -> None:
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(processor(BrokenExporter()))
    rig.instruments.use_tracers(tracers)
    for _ in range(3):
        assert rig.run(make_call(), hit).future.result(0).outcome is Outcome.HIT
    tracers.shutdown()
    assert rig.counts.total(Count.RECALLS, IDENTITY.provider) == 3


class BrokenReader(MetricReader):
    """A reader that cannot take what it collected."""

    def _receive_metrics(self, metrics_data: MetricsData, *_: Any, **__: Any) -> None:
        raise RuntimeError(SECRET)

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: object) -> None:
        """Nothing to close."""


def test_reader_that_fails_takes_nothing_from_the_others(rig: Rig) -> None:
    registry, broken = CollectorRegistry(), BrokenReader()
    meters = MeterProvider((broken, PrometheusReader(registry)), shutdown_on_exit=False)
    rig.instruments.use_meters(meters)
    assert rig.run(make_call(), hit).future.result(0).outcome is Outcome.HIT
    with pytest.raises(RuntimeError):
        broken.collect()
    assert b"memotel_recall_duration_seconds_count" in generate_latest(registry)
    meters.shutdown()


class UnreadableReader(PrometheusReader):
    """A Prometheus reader whose collection fails."""

    def collect(self, timeout_millis: float = 10_000) -> None:
        raise RuntimeError(SECRET)


def test_reader_that_cannot_be_read_leaves_the_applications_metrics(
    faults: Faults, caplog: pytest.LogCaptureFixture
) -> None:
    registry = CollectorRegistry()
    Counter("app_orders", "Orders.", registry=registry).inc()
    meters = MeterProvider((UnreadableReader(registry),), shutdown_on_exit=False)
    for _ in range(3):
        assert b"app_orders_total 1.0" in generate_latest(registry)
    meters.shutdown()
    assert faults.count == 3
    (record,) = caplog.records
    assert record.__dict__["event"] == "telemetry.failed"
    assert SECRET not in caplog.text
