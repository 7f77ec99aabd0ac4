"""The conservation law of writes, read from one snapshot, and the series that a built client starts with."""

import itertools
from collections.abc import Iterable, Mapping

from memotel.counts import Count, Counts, Gauge, Labels
from memotel.outcomes import Adapter, Provider
from memotel.telemetry import names

GAINED = (Count.ACCEPTED, Count.ADOPTED, Count.RESENT)
ENDED = (Count.WRITES, Count.HANDED_OVER, Gauge.OUTBOX_PENDING)
NOT_DECLARED = (Gauge.UNACCOUNTED, Gauge.RATELIMIT_REMAINING, Gauge.DISABLED)
"""Computed, unknown until the service says it, and not per provider: a zero would be a claim."""

Series = Mapping[Labels, float]


def unaccounted(snapshot: Mapping[Count | Gauge, Series]) -> dict[Labels, float]:
    """Return, by provider, accepted + adopted + resent - (terminal + handed over + pending)."""
    totals: dict[Labels, float] = {}
    for sign, members in ((1, GAINED), (-1, ENDED)):
        for member in members:
            for labels, value in snapshot.get(member, {}).items():
                provider = labels[:1]
                totals[provider] = totals.get(provider, 0) + sign * value
    return totals


def declare_client(counts: Counts, provider: Provider, adapter: Adapter) -> None:
    """Make every series of a built client exist at zero; a second client of its kind finds them there."""
    if not counts.is_first(provider, adapter):
        return
    for count, counter in names.COUNTERS.items():
        for labels in _label_sets(counter, provider, adapter):
            counts.declare(count, *labels)
    for gauge, instrument in names.GAUGES.items():
        if gauge not in NOT_DECLARED:
            for labels in _label_sets(instrument, provider, adapter):
                counts.declare(gauge, *labels)


def _label_sets(
    instrument: names.Instrument, provider: Provider, adapter: Adapter
) -> Iterable[Labels]:
    fixed: dict[names.Label, tuple[str, ...]] = {
        names.PROVIDER: (provider,),
        names.ADAPTER: (adapter,),
    }
    return itertools.product(*(fixed.get(label, label.values or ()) for label in instrument.labels))
