"""From what an OpenTelemetry reader collected to Prometheus families, exemplars included.

Labels are those of the points, dots to underscores, missing ones empty; no scope labels. One family per name: where
two series share a name and all labels the first one stands, for duplicates would spoil the whole scrape.
"""

import bisect
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

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
    Sample,
)

from memotel.telemetry.guard import logger
from memotel.telemetry.naming import prometheus_label, prometheus_name, prometheus_unit

Pairs = tuple[tuple[str, str], ...]
Point = NumberDataPoint | HistogramDataPoint
Bucket = tuple[str, float] | tuple[str, float, Exemplar]
_BOUNDS = 256
"""More than one process has sets of bounds."""


class Shape(StrEnum):
    """What Prometheus makes of a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(slots=True)
class Table:
    """The series of one family, by their labels."""

    name: str
    shape: Shape
    unit: str
    help: str
    rows: dict[Pairs, Point] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        """Every label that one of the series has, sorted; a series without it shows it empty."""
        return sorted({key for labels in self.rows for key, _ in labels})


class Shown(Family):
    """A family that makes its samples only where they are read: `rendering` writes its table without them."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._samples: list[Sample] | None = None
        name = table.name.removesuffix("_total") if table.shape is Shape.COUNTER else table.name
        super().__init__(name, table.help, table.shape, table.unit)

    @property
    def samples(self) -> list[Sample]:
        """What prometheus_client makes of the table."""
        if self._samples is None:
            self._samples = _family(self.table).samples
        return self._samples

    @samples.setter
    def samples(self, made: list[Sample]) -> None:
        """Keep what somebody else made; the empty list of the base class is not that."""
        self._samples = made or None


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
        self._tables: dict[str, Table] = {}
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
            Table(name, shape, prometheus_unit(unit), metric.description or metric.name),
        )
        if table.shape is not shape:
            self._complaints.say(metric.name, f"the name {name} is a {table.shape} already")
            return
        for point in metric.data.data_points:
            self._add_point(table, point)

    def _add_point(self, table: Table, point: object) -> None:
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
            if table.rows:
                yield Shown(table)


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


def _family(table: Table) -> Family:
    keys = table.keys
    family = _empty(table, keys)
    for labels, point in table.rows.items():
        known = dict(labels)
        values = [known.get(key, "") for key in keys]
        if isinstance(family, HistogramMetricFamily) and isinstance(point, HistogramDataPoint):
            family.add_metric(values, buckets(point), point.sum)
        elif isinstance(family, CounterMetricFamily) and isinstance(point, NumberDataPoint):
            family.add_metric(values, point.value, exemplar=latest(point.exemplars))
        elif isinstance(family, GaugeMetricFamily) and isinstance(point, NumberDataPoint):
            family.add_metric(values, point.value)
    return family


def _empty(
    table: Table, keys: Sequence[str]
) -> CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily:
    if table.shape is Shape.COUNTER:
        return CounterMetricFamily(table.name, table.help, labels=keys, unit=table.unit)
    if table.shape is Shape.GAUGE:
        return GaugeMetricFamily(table.name, table.help, labels=keys, unit=table.unit)
    return HistogramMetricFamily(table.name, table.help, labels=keys, unit=table.unit)


def buckets(point: HistogramDataPoint) -> list[Bucket]:
    """Return cumulative buckets; `le` is always printed as a float, so that 1 and 1.0 are one series."""
    bounds = tuple(point.explicit_bounds)
    totals = itertools.accumulate(point.bucket_counts)
    plain: list[Bucket] = list(zip(le_of(bounds), totals, strict=True))
    for index, measured in _by_bucket(point.exemplars, bounds).items():
        found = latest(measured)
        if found is not None:
            le, total, *_ = plain[index]
            plain[index] = (le, total, found)
    return plain


@lru_cache(_BOUNDS)
def le_of(bounds: tuple[float, ...]) -> tuple[str, ...]:
    """Return the `le` of each bucket."""
    return (*(repr(float(bound)) for bound in bounds), "+Inf")


def _by_bucket(
    exemplars: Iterable[Measured] | None, bounds: Sequence[float]
) -> dict[int, list[Measured]]:
    found: dict[int, list[Measured]] = {}
    for exemplar in exemplars or ():
        found.setdefault(bisect.bisect_left(bounds, exemplar.value), []).append(exemplar)
    return found


def latest(exemplars: Iterable[Measured] | None) -> Exemplar | None:
    """Return the last of them that names a span, as Prometheus shows it."""
    traced = [e for e in exemplars or () if e.trace_id and e.span_id]
    if not traced:
        return None
    last = max(traced, key=lambda e: e.time_unix_nano)
    ids = {"trace_id": format(last.trace_id, "032x"), "span_id": format(last.span_id, "016x")}
    return Exemplar(ids, float(last.value), last.time_unix_nano / 1e9)
