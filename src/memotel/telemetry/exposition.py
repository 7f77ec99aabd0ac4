"""Prometheus exposition of OpenTelemetry metrics, with exemplars: a reader, and one collector per registry.

Used in place of the official exporter, which has no exemplars and fails a whole scrape on an exponential histogram.
Needs the `prometheus` extra.
"""

import os
import threading
import weakref
from collections.abc import Iterable, Iterator

from opentelemetry.sdk.metrics.export import MetricReader, MetricsData
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from memotel.telemetry.families import Complaints, Families
from memotel.telemetry.guard import guarded


class PrometheusReader(MetricReader):
    """A metric reader whose metrics appear in a prometheus_client registry, beside the application's own.

    Cumulative. Exemplars are those since the last collection, so two scrapers each see a part of them. A forked child
    shows nothing of it: what it inherited belongs to the parent.
    """

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        super().__init__()
        self._lock_of_read = threading.Lock()
        self._received: MetricsData | None = None
        self._pid = os.getpid()
        self._registry = registry
        self._collector = _collectors.setdefault(registry, _RegistryCollector())
        self._collector.add(self, registry)

    def read(self) -> MetricsData | None:
        """Collect now. Thread-safe; None where there is nothing, or in a forked child."""
        if os.getpid() != self._pid:
            return None
        with self._lock_of_read:
            self._received = None
            self.collect()
            return self._received

    def _receive_metrics(
        self,
        metrics_data: MetricsData,
        timeout_millis: float = 10_000,
        **kwargs: object,
    ) -> None:
        self._received = metrics_data

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: object) -> None:
        """Take the metrics out of the registry. Idempotent."""
        self._collector.remove(self, self._registry)


class _RegistryCollector(Collector):
    """All our readers in one registry, shown as one: no family twice, one `target_info`."""

    def __init__(self) -> None:
        self._readers: tuple[PrometheusReader, ...] = ()
        self._complaints = Complaints()

    def add(self, reader: PrometheusReader, registry: CollectorRegistry) -> None:
        """Show one more reader in `registry`."""
        if not self._readers:
            registry.register(self)
        self._readers = (*self._readers, reader)

    def remove(self, reader: PrometheusReader, registry: CollectorRegistry) -> None:
        """Show this reader no longer."""
        had = bool(self._readers)
        self._readers = tuple(r for r in self._readers if r is not reader)
        if had and not self._readers:
            registry.unregister(self)

    def describe(self) -> Iterable[Family]:
        """Name nothing beforehand: instruments come and go with the application."""
        return ()

    def collect(self) -> Iterator[Family]:
        """Yield the families of all readers."""
        families = Families(self._complaints)
        for reader in self._readers:
            data = guarded(reader.read)()
            if data is not None:
                families.add(data)
        yield from families.build()


_collectors: weakref.WeakKeyDictionary[CollectorRegistry, _RegistryCollector] = (
    weakref.WeakKeyDictionary()
)
