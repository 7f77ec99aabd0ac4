"""What a ledger's moves are in the process's counters: each move one change, of which no snapshot sees half."""

from memotel.counts import Count, Counts, Gauge, Series
from memotel.outcomes import (
    Adapter,
    DedupeKind,
    Operation,
    Provider,
    RefusalReason,
    RetryCause,
    Speaker,
    WriteOutcome,
)
from memotel.values import Write
from memotel.writes.outbox import Entry


class Tally:
    """Counts what comes into one outbox, and what becomes of it. Thread-safe.

    Args:
        counts: the process's counters.
        provider: label of every series.
    """

    def __init__(self, counts: Counts, provider: Provider) -> None:
        self._counts = counts
        self._provider = provider
        self._known: dict[tuple[str, ...], Series] = {}
        self._coming_in: dict[tuple[Adapter, Speaker], tuple[Series, Series, Series]] = {}

    def accepted(self, write: Write, size: int) -> None:
        """Count a write of so many bytes that waits from now on."""
        kind = write.adapter, write.turn.speaker
        found = self._coming_in.get(kind)
        if found is None:
            found = self._coming_in[kind] = (
                self._series(Count.ACCEPTED, *kind),
                self._series(Gauge.OUTBOX_PENDING),
                self._series(Gauge.OUTBOX_BYTES),
            )
        accepted, pending, waiting = found
        self._counts.move((accepted, 1), (pending, 1), (waiting, size))

    def accepted_and_dropped(self, write: Write) -> None:
        """Count a write that a full outbox accepts only to drop it."""
        kind = write.adapter, write.turn.speaker
        self._counts.move(
            (self._series(Count.ACCEPTED, *kind), 1),
            (self._series(Count.WRITES, *kind, WriteOutcome.DROPPED), 1),
        )

    def ended(self, entry: Entry, outcome: WriteOutcome) -> None:
        """Count the end of an entry."""
        write = entry.write
        moves: list[tuple[Series, float]] = [
            (self._series(Count.WRITES, write.adapter, write.turn.speaker, outcome), 1),
            (self._series(Gauge.OUTBOX_PENDING), -1),
            (self._series(Gauge.OUTBOX_BYTES), -entry.size_bytes),
        ]
        if entry.parked_at is not None:
            moves.append((self._series(Gauge.OUTBOX_PARKED), -1))
        if outcome is WriteOutcome.DUPLICATE:
            moves.append((self._series(Count.DEDUPLICATED, write.adapter, DedupeKind.REPLAY), 1))
        self._counts.move(*moves)

    def adopted(self, many: int, parked: int, size: int) -> None:
        """Count writes of another process that wait here from now on, `parked` of them for a quota."""
        self._came(Count.ADOPTED, many, parked, size, sign=1)

    def handed_over(self, many: int, parked: int, size: int) -> None:
        """Count writes that another process has from now on."""
        self._came(Count.HANDED_OVER, many, parked, size, sign=-1)

    def parked(self, by: int) -> None:
        """Count writes that begin (or, where negative, end) to wait for a quota."""
        self._counts.move((self._series(Gauge.OUTBOX_PARKED), by))

    def retried(self, cause: RetryCause) -> None:
        """Count a send that will be repeated."""
        self._counts.add(Count.RETRIES, self._provider, Operation.WRITE, cause)

    def deduplicated(self, adapter: Adapter, kind: DedupeKind) -> None:
        """Count an utterance that was seen before and is not written again."""
        self._counts.add(Count.DEDUPLICATED, self._provider, adapter, kind)

    def refused(self, reason: RefusalReason) -> None:
        """Count a write that was not accepted."""
        self._counts.add(Count.REFUSED, self._provider, reason)

    def _came(self, name: Count, many: int, parked: int, size: int, *, sign: int) -> None:
        self._counts.move(
            (self._series(name), many),
            (self._series(Gauge.OUTBOX_PARKED), sign * parked),
            (self._series(Gauge.OUTBOX_PENDING), sign * many),
            (self._series(Gauge.OUTBOX_BYTES), sign * size),
        )

    def _series(self, name: Count | Gauge, *labels: str) -> Series:
        key = (name, *labels)
        series = self._known.get(key)
        if series is None:
            series = self._known[key] = self._counts.series(name, self._provider, *labels)
        return series
