"""What an outbox is: where accepted writes wait until they end. The one in memory is here."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from memotel.outcomes import WriteOutcome
from memotel.values import Scope, Write, WriteAnswer
from memotel.writes.deadletters import DeadLetter, DeadLetters
from memotel.writes.disk.rows import Row

if TYPE_CHECKING:
    from memotel.writes.host import Host

ENTRY_BYTES = 512
"""What one waiting write costs beside its text, roughly."""


class WithdrawnError(Exception):
    """A write was removed from the outbox before it was sent: it has ended already."""


class Entry:
    """One accepted write on its way.

    What the drain needs to plan with lives here. Monotonic seconds throughout; `parked_at` is None unless it waits
    for a quota; `answer` and `error` are of its last send, `outcome` of its end. `row` is what an outbox on disk knows it
    by, None where it is in memory alone; `is_handed_over` once another process has it.
    """

    __slots__ = (
        "answer",
        "attempts",
        "due_at",
        "error",
        "expires_at",
        "is_handed_over",
        "is_in_flight",
        "outcome",
        "parked_at",
        "row",
        "scope",
        "sent_at",
        "seq",
        "server_errors",
        "size_bytes",
        "successes_seen",
        "write",
    )

    def __init__(self, seq: int, write: Write, size_bytes: int, expires_at: float) -> None:
        self.seq = seq
        self.write = write
        self.scope: Scope = write.turn.scope
        self.size_bytes = size_bytes
        self.expires_at = expires_at
        self.attempts = 0
        self.due_at = 0.0
        self.sent_at = 0.0
        self.parked_at: float | None = None
        self.server_errors = 0
        self.successes_seen = 0
        self.is_in_flight = False
        self.is_handed_over = False
        self.row: int | None = None
        self.outcome: WriteOutcome | None = None
        self.answer: WriteAnswer | None = None
        self.error: Exception | None = None

    @property
    def is_ended(self) -> bool:
        """Whether it has left the outbox; `outcome` says how, unless it was handed over."""
        return self.outcome is not None or self.is_handed_over


def size_bytes(write: Write) -> int:
    """Return what a waiting write counts against the outbox's bytes."""
    turn = write.turn
    metadata = _shown_chars(turn.metadata) if turn.metadata else 0
    text = turn.text
    words = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return ENTRY_BYTES + words + metadata


def _shown_chars(metadata: object) -> int:
    try:
        return len(repr(metadata))
    except (ValueError, RecursionError):  # a number of thousands of digits, or nesting without end
        return ENTRY_BYTES


class Outbox(Protocol):
    """Where accepted writes wait. The ledger calls every method under its one lock.

    `put` returns when the write is as safe as this outbox makes it; `end` forgets it. An outbox whose
    `survives_exit` is true keeps what is left for the next process when it is closed.
    """

    survives_exit: bool

    def open(self, host: "Host") -> None:
        """Begin to look for what other processes left, where they share the outbox. Not under the ledger's lock."""
        ...

    def close(self) -> None:
        """Let go of what is shared, after `hand_over`. Idempotent. Not under the ledger's lock."""
        ...

    def put(self, write: Write, expires_at: float, size: int) -> Entry | None:
        """Keep a write of so many bytes, after all earlier ones; None, changing nothing, where its key waits already."""
        ...

    def adopt(self, rows: Sequence[Row]) -> list[Entry] | None:
        """Keep writes of another process; return those that are new here, None where none can be kept."""
        ...

    def park(self, entry: Entry) -> None:
        """Note that the entry waits for a quota from `entry.parked_at` on."""
        ...

    def unpark(self, entry: Entry) -> None:
        """Note that the entry may be sent again; it is now the one that expires last."""
        ...

    def end(self, entry: Entry, outcome: WriteOutcome, cause: str) -> None:
        """Forget an entry that has ended; `cause` says why, in a few words. A rejected one is kept as a dead letter."""
        ...

    def hand_over(self) -> list[Entry]:
        """Forget everything, and return it: another process has it now."""
        ...

    def unkept(self) -> list[Entry]:
        """Return what would be lost if the process ended now."""
        ...

    def was_touched(self) -> bool:
        """Whether somebody may have removed entries since `withdrawn` was last asked. Not under the ledger's lock."""
        ...

    def withdrawn(self) -> list[Entry]:
        """Return the entries that somebody has removed from the outbox since this was last asked."""
        ...

    def is_withdrawn(self, write: Write) -> bool:
        """Whether somebody has removed this write."""
        ...

    def overdue(self, now: float) -> list[Entry]:
        """Return adopted entries that are too old though younger ones wait before them; none in flight."""
        ...

    def mend(self) -> bool:
        """Bring what is kept up to date; return whether there is more to do. Nothing goes wrong in memory."""
        ...

    def dead_letters(self, now: float) -> list[DeadLetter]:
        """Return the rejected writes that are kept at wall-clock time `now`, oldest first."""
        ...

    @property
    def dead(self) -> int:
        """How many dead letters are kept."""
        ...

    def note_dropped(self) -> None:
        """Note that a write was accepted only to be dropped."""
        ...

    def oldest_accepted_at(self) -> float | None:
        """Return the wall-clock second of the oldest acceptance, parked ones apart; None where nothing waits."""
        ...

    @property
    def is_degraded(self) -> bool:
        """Whether it keeps writes less safely than it should."""
        ...

    def oldest(self) -> Entry | None:
        """Return the entry that expires first, parked ones apart; None where there is none."""
        ...

    def oldest_parked(self) -> Entry | None:
        """Return the entry that has been parked longest, or None."""
        ...

    def entries(self) -> list[Entry]:
        """Return everything that waits or is parked, oldest first."""
        ...

    def __len__(self) -> int:
        """Return how many wait, parked ones included."""
        ...

    @property
    def parked(self) -> int:
        """How many are parked."""
        ...

    @property
    def size_bytes(self) -> int:
        """Bytes that wait."""
        ...


class MemoryOutbox:
    """An outbox in memory: as fast as a dict, gone with the process."""

    survives_exit = False

    def __init__(
        self, dead: DeadLetters | None = None, wall: Callable[[], float] = time.time
    ) -> None:
        self._waiting: OrderedDict[int, Entry] = OrderedDict()
        self._parked: OrderedDict[int, Entry] = OrderedDict()
        self._last_seq = 0
        self._size_bytes = 0
        self._dead = DeadLetters() if dead is None else dead
        self._wall = wall

    def open(self, host: "Host") -> None:
        """Do nothing: nobody shares it."""

    def close(self) -> None:
        """Do nothing: there is nothing to let go."""

    def put(self, write: Write, expires_at: float, size: int) -> Entry | None:
        """Keep a write of so many bytes, after all earlier ones."""
        return self._add(write, expires_at, size)

    def _add(self, write: Write, expires_at: float, size: int) -> Entry:
        seq = self._last_seq = self._last_seq + 1
        entry = self._waiting[seq] = Entry(seq, write, size, expires_at)
        self._size_bytes += size
        return entry

    def adopt(self, rows: Sequence[Row]) -> list[Entry] | None:
        """Keep nothing: other processes do not see this memory, nor does this one see theirs."""
        del rows
        return None

    def park(self, entry: Entry) -> None:
        """Note that the entry waits for a quota."""
        del self._waiting[entry.seq]
        self._parked[entry.seq] = entry

    def unpark(self, entry: Entry) -> None:
        """Note that the entry may be sent again."""
        del self._parked[entry.seq]
        self._waiting[entry.seq] = entry

    def end(self, entry: Entry, outcome: WriteOutcome, cause: str) -> None:
        """Forget an entry that has ended."""
        del (self._waiting if entry.parked_at is None else self._parked)[entry.seq]
        self._size_bytes -= entry.size_bytes
        if outcome is WriteOutcome.REJECTED:
            self._dead.add(DeadLetter(entry.write, cause, self._wall()))

    def hand_over(self) -> list[Entry]:
        """Forget everything, and return it."""
        left = self.entries()
        self._waiting.clear()
        self._parked.clear()
        self._size_bytes = 0
        return left

    def unkept(self) -> list[Entry]:
        """Return everything."""
        return self.entries()

    def was_touched(self) -> bool:
        """Return False: nobody else can get at it."""
        return False

    def withdrawn(self) -> list[Entry]:
        """Return nothing: nobody else can get at it."""
        return []

    def is_withdrawn(self, write: Write) -> bool:
        """Return False: nobody else can get at it."""
        del write
        return False

    def overdue(self, now: float) -> list[Entry]:
        """Return nothing: writes wait in the order of their age."""
        del now
        return []

    def mend(self) -> bool:
        """Return False: there is nothing to do."""
        return False

    def dead_letters(self, now: float) -> list[DeadLetter]:
        """Return the rejected writes that are kept, oldest first."""
        return self._dead.letters(now)

    @property
    def dead(self) -> int:
        """How many dead letters are kept."""
        return len(self._dead)

    def note_dropped(self) -> None:
        """Do nothing: the ledger counts it."""

    def oldest_accepted_at(self) -> float | None:
        """Return when the oldest was accepted."""
        oldest = self.oldest()
        return None if oldest is None else oldest.write.accepted_at

    @property
    def is_degraded(self) -> bool:
        """False: it never claimed to be safe."""
        return False

    def oldest(self) -> Entry | None:
        """Return the entry that expires first, parked ones apart."""
        return next(iter(self._waiting.values()), None)

    def oldest_parked(self) -> Entry | None:
        """Return the entry that has been parked longest."""
        return next(iter(self._parked.values()), None)

    def entries(self) -> list[Entry]:
        """Return everything that waits or is parked, oldest first."""
        return sorted((*self._waiting.values(), *self._parked.values()), key=lambda e: e.seq)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._parked)

    @property
    def parked(self) -> int:
        """How many are parked."""
        return len(self._parked)

    @property
    def size_bytes(self) -> int:
        """Bytes that wait."""
        return self._size_bytes
