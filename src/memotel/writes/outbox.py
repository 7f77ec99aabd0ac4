"""What an outbox is: where accepted writes wait until they end. The one in memory is here."""

from collections import OrderedDict
from typing import Protocol

from memotel.outcomes import WriteOutcome
from memotel.values import Scope, Write, WriteAnswer

ENTRY_BYTES = 512
"""What one waiting write costs beside its text, roughly."""


class Entry:
    """One accepted write on its way.

    What the drain needs to plan with lives here. Monotonic seconds throughout; `parked_at` is None unless it waits
    for a quota; `answer` and `error` are of its last send, `outcome` of its end.
    """

    __slots__ = (
        "answer",
        "attempts",
        "due_at",
        "error",
        "expires_at",
        "is_in_flight",
        "outcome",
        "parked_at",
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
        self.outcome: WriteOutcome | None = None
        self.answer: WriteAnswer | None = None
        self.error: Exception | None = None

    @property
    def is_ended(self) -> bool:
        """Whether it has left the outbox; `outcome` says how."""
        return self.outcome is not None


def size_bytes(write: Write) -> int:
    """Return what a waiting write counts against the outbox's bytes."""
    turn = write.turn
    metadata = len(repr(turn.metadata)) if turn.metadata else 0
    text = turn.text
    words = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return ENTRY_BYTES + words + metadata


class Outbox(Protocol):
    """Where accepted writes wait. The ledger calls every method under its one lock.

    `put` returns when the write is as safe as this outbox makes it; `end` forgets it. An outbox whose
    `survives_exit` is true keeps what is left for the next process when it is closed.
    """

    survives_exit: bool

    def put(self, write: Write, expires_at: float) -> Entry:
        """Keep a write, after all earlier ones."""
        ...

    def park(self, entry: Entry) -> None:
        """Note that the entry waits for a quota from `entry.parked_at` on."""
        ...

    def unpark(self, entry: Entry) -> None:
        """Note that the entry may be sent again; it is now the one that expires last."""
        ...

    def end(self, entry: Entry, outcome: WriteOutcome, cause: str) -> None:
        """Forget an entry that has ended; `cause` says why in one word."""
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

    def __init__(self) -> None:
        self._waiting: OrderedDict[int, Entry] = OrderedDict()
        self._parked: OrderedDict[int, Entry] = OrderedDict()
        self._last_seq = 0
        self._size_bytes = 0

    def put(self, write: Write, expires_at: float) -> Entry:
        """Keep a write, after all earlier ones."""
        self._last_seq += 1
        entry = Entry(self._last_seq, write, size_bytes(write), expires_at)
        self._waiting[entry.seq] = entry
        self._size_bytes += entry.size_bytes
        return entry

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
