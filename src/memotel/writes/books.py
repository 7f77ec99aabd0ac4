"""The books of an outbox at one instant: the conservation law in numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memotel.outcomes import WriteOutcome
from memotel.values import FlushReport

KEPT = frozenset({WriteOutcome.STORED, WriteOutcome.DUPLICATE, WriteOutcome.IGNORED})
"""Ends at which the service has what it wants of a write."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The books at one instant; every number counts writes since the outbox was made."""

    accepted: int = 0
    adopted: int = 0
    resent: int = 0
    handed_over: int = 0
    ended: Mapping[WriteOutcome, int] = field(default_factory=dict)
    pending: int = 0
    parked: int = 0
    size_bytes: int = 0

    @property
    def delivered(self) -> int:
        """Writes that ended kept: stored, duplicate, ignored."""
        return sum(count for outcome, count in self.ended.items() if outcome in KEPT)

    @property
    def failed(self) -> int:
        """Writes that ended without being kept."""
        return sum(self.ended.values()) - self.delivered

    @property
    def unaccounted(self) -> int:
        """What came in minus what went out and what is here: 0 unless something is wrong."""
        came_in = self.accepted + self.adopted + self.resent
        return came_in - sum(self.ended.values()) - self.handed_over - self.pending


def flush_report(before: Totals, after: Totals, kept: int = 0) -> FlushReport:
    """Return what a flush left behind, from the books before and after it; `kept` went to the next process."""
    return FlushReport(
        delivered=after.delivered - before.delivered,
        pending=after.pending + kept,
        failed=after.failed - before.failed,
    )
