"""The figures of one account's writes."""

from collections.abc import Iterator
from dataclasses import dataclass

from memotel.counts import Gauge, Labels
from memotel.outcomes import Provider
from memotel.writes.books import Totals
from memotel.writes.ledger import Ledger


@dataclass(frozen=True, slots=True)
class WriteStats:
    """A write path at one instant: the books, and what the drain is doing."""

    totals: Totals
    in_flight: int
    in_flight_limit: int
    dead_letters: int
    is_credentials_rejected: bool
    is_closed: bool


def outbox_gauges(
    provider: Provider, ledger: Ledger, capacity: int, now: float
) -> Iterator[tuple[Gauge, Labels, float]]:
    """Return what a scrape at wall-clock time `now` sees of an outbox beside its counters."""
    labels = (provider.value,)
    oldest = ledger.oldest_accepted_at()
    yield Gauge.OUTBOX_CAPACITY, labels, capacity
    yield Gauge.OUTBOX_OLDEST_AGE, labels, 0.0 if oldest is None else max(0.0, now - oldest)
    yield Gauge.OUTBOX_DEGRADED, labels, float(ledger.is_degraded)
    yield Gauge.UNACCOUNTED, labels, ledger.totals().unaccounted
