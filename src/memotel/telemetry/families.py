"""From what an OpenTelemetry reader collected to Prometheus families, exemplars included.

Labels are those of the points, dots to underscores, missing ones empty; no scope labels. One family per name: where
two series share a name and all labels the first one stands, for duplicates would spoil the whole scrape.
"""

import bisect
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from opentelemetry.sdk.metrics import Exemplar as Measured
from opentelemetry.sdk.metrics.export import (
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    Sum,
)
from prometheus_client import Metric as Family
from prometheus_client.core import (
    CounterMetricFamily,
    Exemplar,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)

from memotel.telemetry.guard import logger
from memotel.telemetry.naming import prometheus_label, prometheus_name, prometheus_unit

Pairs = tuple[tuple[str, str], ...]
Point = NumberDataPoint | HistogramDataPoint
Bucket = tuple[str, float] | tuple[str, float, Exemplar]


class Shape(StrEnum):
    """What Prometheus makes of a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(slots=True)
class _Table:
    """The series of one family, by their labels."""

    name: str
    shape: Shape
    unit: str
    help: str
    rows: dict[Pairs, Point] = field(default_factory=dict)


class Complaints:
    """Says each thing that the exposition leaves out once, not at every scrape."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()

    def say(self, name: str, reason: str) -> None:
        """Log that `name` is left out, unless that was said before."""
        if (name, reason) not in self._said:
            self._said.add((name, reason))
            logger.warning("%s is left out of the Prometheus exposition: %s", name, reason)


class Families:
    """Gathers the families of one scrape, from any number of readers."""

    def __init__(self, complaints: Complaints) -> None:
        self._complaints = complaints
        self._tables: dict[str, _Table] = {}
        self._target: dict[str, str] | None = None

    def add(self, data: MetricsData) -> None:
        """Add what one reader collected; a metric that cannot be shown is left out, the others are not."""
        for resource in data.resource_metrics:
            if self._target is None:
                self._target = dict(_labels(resource.resource.attributes))
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    self._add_safely(metric)

    def _add_safely(self, metric: Metric) -> None:
        try:
            self._add_metric(metric)
        except Exception as error:  # noqa: BLE001 # one odd metric must not fail the scrape of all
            self._complaints.say(metric.name, type(error).__qualname__)

    def _add_metric(self, metric: Metric) -> None:
        shape = _shape(metric)
        if shape is None:
            self._complaints.say(metric.name, f"{type(metric.data).__name__} has no text form")
            return
        unit = metric.unit or ""
        name = prometheus_name(metric.name, unit, is_counter=shape is Shape.COUNTER)
        table = self._tables.setdefault(
            name,
            _Table(name, shape, prometheus_unit(unit), metric.description or metric.name),
        )
        if table.shape is not shape:
            self._complaints.say(metric.name, f"the name {name} is a {table.shape} already")
            return
        for point in metric.data.data_points:
            self._add_point(table, point)

    def _add_point(self, table: _Table, point: object) -> None:
        if not isinstance(point, NumberDataPoint | HistogramDataPoint):
            self._complaints.say(table.name, f"a {type(point).__name__} has no text form")
            return
        labels = _labels(point.attributes)
        if labels in table.rows:
            self._complaints.say(table.name, "a series with the same labels exists already")
            return
        table.rows[labels] = point

    def build(self) -> Iterator[Family]:
        """Yield the families, with `target_info` first."""
        if self._target is not None:
            yield InfoMetricFamily("target", "Target metadata", self._target)
        for table in self._tables.values():
            family = _family(table)
            if family.samples:
                yield family


def _shape(metric: Metric) -> Shape | None:
    match metric.data:
        case Sum(is_monotonic=True):
            return Shape.COUNTER
        case Sum() | Gauge():
            return Shape.GAUGE
        case Histogram():
            return Shape.HISTOGRAM
        case _:
            return None


def _labels(attributes: Mapping[str, object] | None) -> Pairs:
    """Return label pairs by name; attributes that become the same label are joined with a semicolon."""
    found: dict[str, str] = {}
    for key, value in sorted((attributes or {}).items()):
        label, text = prometheus_label(key), _text(value)
        found[label] = f"{found[label]};{text}" if label in found else text
    return tuple(found.items())


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _family(table: _Table) -> Family:
    keys = sorted({key for labels in table.rows for key, _ in labels})
    family = _empty(table, keys)
    for labels, point in table.rows.items():
        known = dict(labels)
        values = [known.get(key, "") for key in keys]
        if isinstance(family, HistogramMetricFamily) and isinstance(point, HistogramDataPoint):
            family.add_metric(values, _buckets(point), point.sum)
        elif isinstance(family, CounterMetricFamily) and isinstance(point, NumberDataPoint):
            family.add_metric(values, point.value, exemplar=_latest(point.exemplars))
        elif isinstance(family, GaugeMetricFamily) and isinstance(point, NumberDataPoint):
            family.add_metric(values, point.value)
    return family


def _empty(
    table: _Table, keys: Sequence[str]
) -> CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily:
    if table.shape is Shape.COUNTER:
        return CounterMetricFamily(table.name, table.help, labels=keys, unit=table.unit)
    if table.shape is Shape.GAUGE:
        return GaugeMetricFamily(table.name, table.help, labels=keys, unit=table.unit)
    return HistogramMetricFamily(table.name, table.help, labels=keys, unit=table.unit)


def _buckets(point: HistogramDataPoint) -> list[Bucket]:
    """Return cumulative buckets; `le` is always printed as a float, so that 1 and 1.0 are one series."""
    bounds = [*map(float, point.explicit_bounds), math.inf]
    examples = _by_bucket(point.exemplars, bounds)
    buckets: list[Bucket] = []
    total = 0
    for index, (bound, count) in enumerate(zip(bounds, point.bucket_counts, strict=True)):
        total += count
        le = "+Inf" if math.isinf(bound) else repr(bound)
        found = _latest(examples.get(index, ()))
        buckets.append((le, total) if found is None else (le, total, found))
    return buckets


def _by_bucket(
    exemplars: Iterable[Measured] | None, bounds: Sequence[float]
) -> dict[int, list[Measured]]:
    found: dict[int, list[Measured]] = {}
    for exemplar in exemplars or ():
        found.setdefault(bisect.bisect_left(bounds, exemplar.value), []).append(exemplar)
    return found


def _latest(exemplars: Iterable[Measured] | None) -> Exemplar | None:
    traced = [e for e in exemplars or () if e.trace_id and e.span_id]
    if not traced:
        return None
    last = max(traced, key=lambda e: e.time_unix_nano)
    ids = {"trace_id": format(last.trace_id, "032x"), "span_id": format(last.span_id, "016x")}
    return Exemplar(ids, float(last.value), last.time_unix_nano / 1e9)
