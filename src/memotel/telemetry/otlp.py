"""OTLP export of traces and metrics, where OTEL_EXPORTER_OTLP_ENDPOINT asks for it. Needs the `otlp` extra."""

import os
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import (
    MetricExportResult,
    MetricReader,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor


class OwnProcessExporter(OTLPMetricExporter):
    """Exports only in the process that made it.

    A forked child inherits a reader and a copy of the histograms; exporting that copy would count everything twice,
    under the parent's identity.
    """

    def __init__(self) -> None:
        super().__init__()
        self._own_pid = os.getpid()

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        """Send the metrics, or nothing in a forked child."""
        if os.getpid() != self._own_pid:
            return MetricExportResult.SUCCESS
        return super().export(metrics_data, timeout_millis, **kwargs)


def span_processor() -> SpanProcessor:
    """Return the processor that sends spans in batches."""
    return BatchSpanProcessor(OTLPSpanExporter())


def metric_reader() -> MetricReader:
    """Return the reader that sends metrics every OTEL_METRIC_EXPORT_INTERVAL milliseconds."""
    return PeriodicExportingMetricReader(OwnProcessExporter())
