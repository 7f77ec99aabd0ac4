"""The books of one outbox: every write that comes in is counted out exactly once.

accepted + adopted + resent = stored + duplicate + ignored + quota + rejected + expired + dropped + handed over
+ pending, at every instant; pending includes what is in flight and what is parked.
"""

import enum
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from memotel.counts import Counts
from memotel.locks import Callers, calm
from memotel.outcomes import (
    Adapter,
    DedupeKind,
    Provider,
    RefusalReason,
    RetryCause,
    WriteOutcome,
)
from memotel.values import Write
from memotel.writes.books import Totals
from memotel.writes.deadletters import DeadLetter
from memotel.writes.disk.rows import Row
from memotel.writes.outbox import Entry, Outbox, size_bytes
from memotel.writes.tally import Tally

T = TypeVar("T")


class NotTaken(enum.Enum):
    """Why a write was not taken in."""

    CLOSED = enum.auto()
    FULL = enum.auto()
    WAITS_ALREADY = enum.auto()


class Ledger:
    """Moves writes in and out of an outbox and counts each move, as one step. Thread-safe.

    Args:
        counts: the process's counters; each move is one `apply`, so no snapshot sees half of it.
        provider: label of every series.
        outbox: where the writes wait.
        max_writes: how many may wait.
        max_bytes: how many bytes may wait.
        on_park: called with each entry that begins to wait for a quota.
        callers: who is amid an accept.
    """

    def __init__(
        self,
        counts: Counts,
        provider: Provider,
        outbox: Outbox,
        *,
        max_writes: int,
        max_bytes: int,
        on_park: Callable[[Entry], object] = id,
        callers: Callers | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._callers = callers or Callers()
        self._tally = Tally(counts, provider)
        self._outbox = outbox
        self._max_writes = max_writes
        self._max_bytes = max_bytes
        self._on_park = on_park
        self._is_closed = False
        self._last_seq = 0
        self._accepted = 0
        self._adopted = 0
        self._handed_over = 0
        self._ended = dict.fromkeys(WriteOutcome, 0)

    def accept(
        self, write: Write, expires_at: float, then: Callable[[Entry], object]
    ) -> Entry | NotTaken:
        """Take a write in and call `then` with its entry, in order; or change nothing, and say why."""
        size = size_bytes(write)
        with self._callers, calm(self._lock):
            if self._is_closed or self._is_full(size):
                return NotTaken.CLOSED if self._is_closed else NotTaken.FULL
            entry = self._outbox.put(write, expires_at, size)
            if entry is None:
                return NotTaken.WAITS_ALREADY
            self._last_seq = entry.seq
            self._accepted += 1
            self._tally.accepted(write, size)
            then(entry)
            return entry

    def adopt(
        self, rows: Sequence[Row], then: Callable[[Entry], object], *, max_parked: int
    ) -> tuple[list[Row], list[Entry]]:
        """Take writes of another process in, as far as there is room, and call `then` with each new entry, in order.

        Returns:
            the rows that are kept here now, and the entries that are new: a key that waited here already has none.
        """
        with calm(self._lock):
            fitting = [] if self._is_closed else self._fitting(rows, max_parked)
            entries = self._outbox.adopt(fitting) if fitting else None
            if entries is None:
                return [], []
            self._adopted += len(entries)
            parked = sum(entry.parked_at is not None for entry in entries)
            size = sum(entry.size_bytes for entry in entries)
            self._tally.adopted(len(entries), parked, size)
            for entry in entries:
                self._last_seq = entry.seq
                then(entry)
            return fitting, entries

    def _fitting(self, rows: Sequence[Row], max_parked: int) -> list[Row]:
        """Return the rows for which there is room, none behind one for which there is none: their order is kept.

        One that is too large for the outbox is taken where nothing else waits.
        """
        pending, size = len(self._outbox), self._outbox.size_bytes
        parked = self._outbox.parked
        result = []
        for row in rows:
            if row.parked_at is not None and parked >= max_parked:
                continue
            has_bytes = pending == 0 or size + row.size_bytes <= self._max_bytes
            if pending >= self._max_writes or not has_bytes:
                break
            result.append(row)
            pending, size = pending + 1, size + row.size_bytes
            parked += row.parked_at is not None
        return result

    def as_one_step(self, action: Callable[[], T]) -> T:
        """Run what looks at the outbox or changes it, as one step with everything else."""
        with calm(self._lock):
            return action()

    def hand_over(self) -> int:
        """Count what is left as handed over, and forget it: whoever has the outbox next delivers it. Return how many."""
        with calm(self._lock):
            parked, size = self._outbox.parked, self._outbox.size_bytes
            left = self._outbox.hand_over()
            if not left:
                return 0
            for entry in left:
                entry.is_handed_over = True
            self._handed_over += len(left)
            self._tally.handed_over(len(left), parked, size)
            return len(left)

    def accept_and_drop(self, write: Write) -> None:
        """Count a write that a full outbox accepts only to drop it."""
        with calm(self._lock):
            self._accepted += 1
            self._ended[WriteOutcome.DROPPED] += 1
            self._outbox.note_dropped()
            self._tally.accepted_and_dropped(write)

    def end(self, entry: Entry, outcome: WriteOutcome, cause: str = "") -> bool:
        """Count the end of an entry; return False, changing nothing, if it had ended already."""
        with calm(self._lock):
            if entry.is_ended:
                return False
            self._outbox.end(entry, outcome, cause)
            entry.outcome = outcome
            self._ended[outcome] += 1
            self._tally.ended(entry, outcome)
            return True

    def park(self, entry: Entry, now: float) -> None:
        """Note that an entry waits for a quota."""
        with calm(self._lock):
            if entry.is_ended or entry.parked_at is not None:
                return
            self._outbox.park(entry)
            entry.parked_at = now
            self._tally.parked(1)
        self._on_park(entry)

    def unpark(self, entry: Entry, expires_at: float) -> None:
        """Note that an entry may be sent again; its age counts anew, so that the wait does not expire it."""
        with calm(self._lock):
            if entry.is_ended or entry.parked_at is None:
                return
            entry.parked_at = None
            entry.expires_at = expires_at
            self._outbox.unpark(entry)
            self._tally.parked(-1)

    def close(self) -> None:
        """Take nothing more in."""
        with calm(self._lock):
            self._is_closed = True

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is taken in."""
        return self._is_closed

    @property
    def last_seq(self) -> int:
        """The number of the newest entry."""
        return self._last_seq

    def retried(self, cause: RetryCause) -> None:
        """Count a send that will be repeated."""
        self._tally.retried(cause)

    def deduplicated(self, adapter: Adapter, kind: DedupeKind) -> None:
        """Count an utterance that was seen before and is not written again."""
        self._tally.deduplicated(adapter, kind)

    def refused(self, reason: RefusalReason) -> None:
        """Count a write that was not accepted."""
        self._tally.refused(reason)

    def totals(self) -> Totals:
        """Return the books of this instant."""
        with calm(self._lock):
            return Totals(
                accepted=self._accepted,
                adopted=self._adopted,
                handed_over=self._handed_over,
                ended=dict(self._ended),
                pending=len(self._outbox),
                parked=self._outbox.parked,
                size_bytes=self._outbox.size_bytes,
            )

    def oldest(self) -> Entry | None:
        """Return the entry that expires first, parked ones apart."""
        with calm(self._lock):
            return self._outbox.oldest()

    def oldest_parked(self) -> Entry | None:
        """Return the entry that has been parked longest."""
        with calm(self._lock):
            return self._outbox.oldest_parked()

    def entries(self) -> list[Entry]:
        """Return everything that waits or is parked, oldest first."""
        with calm(self._lock):
            return self._outbox.entries()

    def unkept(self) -> list[Entry]:
        """Return what would be lost if the process ended now."""
        with calm(self._lock):
            return self._outbox.unkept()

    def withdrawn(self) -> list[Entry]:
        """Return the entries that somebody has removed from the outbox since this was last asked."""
        if not self._outbox.was_touched():
            return []
        with calm(self._lock):
            return self._outbox.withdrawn()

    def overdue(self, now: float) -> list[Entry]:
        """Return adopted entries that are too old though younger ones wait before them."""
        with calm(self._lock):
            return self._outbox.overdue(now)

    def mend(self) -> bool:
        """Bring what is kept up to date, one step; return whether there is more to do."""
        with calm(self._lock):
            return self._outbox.mend()

    def has_room(self) -> bool:
        """Whether at least one more write may wait."""
        with calm(self._lock):
            return not self._is_closed and not self._is_full(0)

    def dead_letters(self, now: float) -> list[DeadLetter]:
        """Return the rejected writes that are kept at wall-clock time `now`, oldest first."""
        with calm(self._lock):
            return self._outbox.dead_letters(now)

    def oldest_accepted_at(self) -> float | None:
        """Return the wall-clock second of the oldest acceptance, parked ones apart."""
        with calm(self._lock):
            return self._outbox.oldest_accepted_at()

    @property
    def is_degraded(self) -> bool:
        """Whether the outbox keeps writes less safely than it should."""
        return self._outbox.is_degraded

    @property
    def parked(self) -> int:
        """How many writes are parked."""
        return self._outbox.parked

    def _is_full(self, size: int) -> bool:
        if len(self._outbox) >= self._max_writes:
            return True
        return self._outbox.size_bytes + size > self._max_bytes
