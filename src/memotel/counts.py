"""The plain integers behind every counter and gauge, and the one lock that keeps them consistent.

Recording is an increment; whoever reads takes one snapshot in which every sum agrees. Names, units and
label names are in `memotel.telemetry.names`; label values are enum members or provider and adapter names.
"""

import threading
from collections.abc import Callable, Iterable

from memotel.locks import calm
from memotel.outcomes import Word

Labels = tuple[str, ...]
GaugeSource = Callable[[], Iterable[tuple["Gauge", Labels, float]]]


class Count(Word):
    """A number that only grows (in this process, since its start or fork)."""

    RECALLS = "recalls"  # provider, adapter, outcome
    RECALL_TIMEOUTS = "recall_timeouts"  # provider, phase
    CONTEXT_BYTES = "context_bytes"  # provider, adapter
    TRUNCATED = "truncated"  # provider, part
    SEARCHES = "searches"  # provider, adapter, outcome
    LOOP_BLOCKED = "loop_blocked"  # provider
    ACCEPTED = "accepted"  # provider, adapter, speaker
    ADOPTED = "adopted"  # provider
    RESENT = "resent"  # provider
    HANDED_OVER = "handed_over"  # provider
    WRITES = "writes"  # provider, adapter, speaker, outcome
    DEDUPLICATED = "deduplicated"  # provider, adapter, kind
    REFUSED = "refused"  # provider, reason
    RETRIES = "retries"  # provider, operation, cause
    QUOTA_DEGRADED = "quota_degraded"  # provider, operation, mode
    CIRCUIT_TRANSITIONS = "circuit_transitions"  # provider, to
    OUTBOX_DAMAGED = "outbox_damaged"  # provider; files that were set aside
    CLIENTS_RENEWED = "clients_renewed"  # provider


class Gauge(Word):
    """A number that stands for now."""

    OUTBOX_PENDING = "outbox_pending"  # provider; waiting, in flight and parked
    OUTBOX_PARKED = "outbox_parked"  # provider
    OUTBOX_FOREIGN = "outbox_foreign"  # provider
    OUTBOX_CAPACITY = "outbox_capacity"  # provider
    OUTBOX_DEGRADED = "outbox_degraded"  # provider; outboxes whose disk fails
    OUTBOX_BYTES = "outbox_bytes"  # provider
    OUTBOX_OLDEST_AGE = "outbox_oldest_age"  # provider; seconds
    UNACCOUNTED = "unaccounted"  # provider
    QUOTA_STATE = "quota_state"  # provider, state
    RATELIMIT_REMAINING = "ratelimit_remaining"  # provider
    CIRCUIT_STATE = "circuit_state"  # provider, state
    CREDENTIALS_REJECTED = "credentials_rejected"  # provider
    PERMITS_IN_USE = "permits_in_use"  # provider
    PERMITS_CAPACITY = "permits_capacity"  # provider
    DISABLED = "disabled"  # part


def _sum(one: float, other: float) -> float:
    return one + other


_MERGES: dict[Gauge, Callable[[float, float], float]] = {
    Gauge.OUTBOX_OLDEST_AGE: max,
    Gauge.RATELIMIT_REMAINING: min,
}
"""How values of equal labels from several accounts become one, where they are not added up."""


class Series:
    """One counter or gauge with its label values: what it stands at. Only its `Counts` change it."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0


class Counts:
    """Counters of one process, safe to use from any thread.

    A key is a `Count` or `Gauge` with its label values in the order that the comments above give.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._series: dict[tuple[Count | Gauge, Labels], Series] = {}
        self._sources: list[GaugeSource] = []
        self._known: set[Labels] = set()

    def is_first(self, *labels: str) -> bool:
        """Whether these counters are asked this for the first time; the next time they are not."""
        with calm(self._lock):
            is_new = labels not in self._known
            self._known.add(labels)
            return is_new

    def declare(self, name: Count | Gauge, *labels: str) -> None:
        """Make the series exist at zero, so that its first event is visible to a rate."""
        self.series(name, *labels)

    def series(self, name: Count | Gauge, *labels: str) -> Series:
        """Return one series, for `move`: who moves it often need not look for it each time. It exists from now on."""
        with calm(self._lock):
            return self._found(name, labels)

    def add(self, name: Count | Gauge, *labels: str, by: float = 1) -> None:
        """Add `by` to one series."""
        with calm(self._lock):
            self._found(name, labels).value += by

    def apply(self, *changes: tuple[Count | Gauge, Labels, float]) -> None:
        """Add several changes as one: no snapshot sees some of them without the others."""
        with calm(self._lock):
            for name, labels, by in changes:
                self._found(name, labels).value += by

    def move(self, *moves: tuple[Series, float]) -> None:
        """Do as `apply` does, with series of these counts that are at hand."""
        with calm(self._lock):
            for series, by in moves:
                series.value += by

    def _found(self, name: Count | Gauge, labels: Labels) -> Series:
        series = self._series.get((name, labels))
        if series is None:
            series = self._series[name, labels] = Series()
        return series

    def add_source(self, source: GaugeSource) -> None:
        """Have `source` asked for gauges at each snapshot; values of equal labels are added up, or as `_MERGES` says."""
        with calm(self._lock):
            self._sources.append(source)

    def remove_source(self, source: GaugeSource) -> None:
        """Ask `source` no more; nothing happens where it was not asked before."""
        with calm(self._lock):
            self._sources = [each for each in self._sources if each != source]

    def snapshot(self) -> dict[Count | Gauge, dict[Labels, float]]:
        """Return every series now, as `{name: {labels: value}}`."""
        with calm(self._lock):
            values = [(key, series.value) for key, series in self._series.items()]
            sources = list(self._sources)
        result: dict[Count | Gauge, dict[Labels, float]] = {}
        for (name, labels), value in values:
            result.setdefault(name, {})[labels] = value
        for source in sources:
            for gauge, labels, value in source():
                series = result.setdefault(gauge, {})
                merge = _MERGES.get(gauge, _sum)
                series[labels] = merge(series[labels], value) if labels in series else value
        return result

    def total(self, name: Count | Gauge, *labels: str) -> float:
        """Return the sum of the series whose labels start with `labels`."""
        with calm(self._lock):
            return sum(
                series.value
                for (key, found), series in self._series.items()
                if key is name and found[: len(labels)] == labels
            )
