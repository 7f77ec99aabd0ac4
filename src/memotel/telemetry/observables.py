"""Counters and gauges as OpenTelemetry asks for them: from one consistent snapshot per collection."""

import threading
from collections.abc import Callable, Iterable
from functools import cache

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from memotel.counts import Count, Counts, Gauge, Labels
from memotel.settings import switches
from memotel.telemetry import names
from memotel.telemetry.conservation import unaccounted
from memotel.telemetry.guard import guarded

Series = dict[Labels, float]
Snapshot = dict[Count | Gauge, Series]
Callback = Callable[[CallbackOptions], Iterable[Observation]]


class _Thread(threading.local):
    """The snapshot that the collection on this thread reads, and who has read it."""

    source: Counts | None = None
    snapshot: Snapshot
    readers: set[Count | Gauge]


class Snapshots:
    """Gives all instruments of one collection the same snapshot.

    A collection asks each instrument once, on one thread; so an instrument that asks a second time belongs to the
    next collection, and a new snapshot is taken.
    """

    def __init__(self, counts: Callable[[], Counts]) -> None:
        self._counts = counts
        self._thread = _Thread()

    def read(self, name: Count | Gauge) -> Series:
        """Return the series of one instrument, by label values."""
        mine, counts = self._thread, self._counts()
        if mine.source is not counts or name in mine.readers:
            mine.source, mine.snapshot, mine.readers = counts, complete(counts.snapshot()), set()
        mine.readers.add(name)
        return mine.snapshot.get(name, {})


def complete(snapshot: Snapshot) -> Snapshot:
    """Add what follows from the counters and the environment, unless a source gave it."""
    snapshot.setdefault(Gauge.UNACCOUNTED, unaccounted(snapshot))
    if Gauge.DISABLED not in snapshot:
        off = guarded(switches)()
        if off is not None:
            snapshot[Gauge.DISABLED] = {
                ("recall",): int(off.recall),
                ("writes",): int(off.writes),
            }
    return snapshot


def observe(meter: Meter, snapshots: Snapshots, version: str) -> None:
    """Create every counter and gauge on `meter`."""
    for count, instrument in names.COUNTERS.items():
        meter.create_observable_counter(
            instrument.name,
            [_callback(snapshots, count, instrument)],
            instrument.unit,
            instrument.description,
        )
    for gauge, instrument in names.GAUGES.items():
        meter.create_observable_gauge(
            instrument.name,
            [_callback(snapshots, gauge, instrument)],
            instrument.unit,
            instrument.description,
        )
    info = names.BUILD_INFO
    build = [Observation(1, {"version": version})]
    meter.create_observable_gauge(info.name, [lambda _: build], info.unit, info.description)


def _callback(snapshots: Snapshots, name: Count | Gauge, instrument: names.Instrument) -> Callback:
    keys = instrument.label_names
    # One for each series that there is; the labels are closed, so it stays as small as the exposition.
    attributes = cache(lambda labels: dict(zip(keys, map(str, labels), strict=True)))

    @guarded
    def series(_: CallbackOptions) -> list[Observation]:
        return [
            Observation(value, attributes(labels)) for labels, value in snapshots.read(name).items()
        ]

    return lambda options: series(options) or []
