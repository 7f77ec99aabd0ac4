"""The outbox of one account that survives its process: in memory to plan with, and in the process's file to be safe."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from memotel.config import OutboxPolicy
from memotel.outcomes import Provider, WriteOutcome
from memotel.values import Write
from memotel.writes.clocks import Clocks
from memotel.writes.deadletters import DeadLetter, DeadLetters
from memotel.writes.disk.directory import OutboxDirectory
from memotel.writes.disk.file import OutboxFile
from memotel.writes.disk.membership import Membership
from memotel.writes.disk.reading import DeadRow
from memotel.writes.disk.rows import Row
from memotel.writes.disk.schema import is_corrupt
from memotel.writes.host import Host
from memotel.writes.notices import WriteNotices
from memotel.writes.outbox import Entry, MemoryOutbox, size_bytes

T = TypeVar("T")

BATCH: Final = 500
"""Rows that one step of mending writes, so that nobody waits long for it."""

_End = tuple[WriteOutcome, str]


class SqliteOutbox(MemoryOutbox):
    """Keeps an account's writes in the outbox file of this process. The ledger calls it under its lock.

    Where the file cannot be written to (disk full, no permission, damaged) it goes on in memory, says so, and catches
    up by itself: `mend` writes what the file does not know yet as soon as the file works again.

    Args:
        account: account key.
        provider: its service.
        directory: where the file is.
        policy: how many dead letters are kept, and for how long.
        max_parked_age_s: how long a write may wait for a quota.
        notices: what says that the disk fails.
        clocks: the time.
    """

    survives_exit = True

    def __init__(
        self,
        account: str,
        provider: Provider,
        directory: OutboxDirectory,
        *,
        policy: OutboxPolicy,
        max_parked_age_s: float,
        notices: WriteNotices,
        clocks: Clocks,
    ) -> None:
        dead = DeadLetters(policy.max_dead_letters, policy.dead_letter_max_age_s)
        super().__init__(dead, clocks.wall)
        self.account = account
        self.provider = provider
        self.directory = directory
        self.notices = notices
        self._policy = policy
        self._max_parked_age_s = max_parked_age_s
        self._clocks = clocks
        self._file: OutboxFile | None = None
        self._seen_version = 0
        self._is_degraded = False
        self._adopted: dict[int, Entry] = {}
        self._unkept: dict[int, Entry] = {}
        self._unended: dict[int, _End] = {}
        self._uncounted: Counter[str] = Counter()
        self._marks: dict[int, tuple[float | None, float]] = {}
        self._withdrawn: set[str] = set()
        self._member: Membership | None = None
        self._is_closed = False
        self._dead_at_close = 0

    @property
    def is_degraded(self) -> bool:
        """Whether new writes are in memory only, since the disk fails."""
        return self._is_degraded

    def open(self, host: Host) -> None:
        """Share the directory: adopt what ended processes left there for this account."""
        self._member = Membership(self, host)
        self.directory.join(self._member)

    def close(self) -> None:
        """Leave the directory: whoever adopts the file delivers what is in it."""
        if self._member is not None:
            self.directory.leave(self._member)

    def put(self, write: Write, expires_at: float, size: int) -> Entry | None:
        """Keep a write in the file, then plan with it."""
        expires_wall = self._wall_of(expires_at)
        number = self._try(lambda file: file.put(write, self.provider, size, expires_wall))
        if number == 0:
            return None
        entry = self._add(write, expires_at, size)
        entry.row = number
        if number is None:
            self._unkept[entry.seq] = entry
        if self._withdrawn:
            self._withdrawn.discard(write.key)
        return entry

    def adopt(self, rows: Sequence[Row]) -> list[Entry] | None:
        """Keep writes of another process in our own file; None where it fails."""
        kept = self._try(lambda file: file.adopt(rows))
        if kept is None:
            return None
        return [self._take_in(row) for row in kept]

    def _take_in(self, row: Row) -> Entry:
        entry = self._add(row.write, self._monotonic_of(row.expires_at), size_bytes(row.write))
        entry.row = row.number
        self._adopted[entry.seq] = entry
        if row.parked_at is not None:
            super().park(entry)
            entry.parked_at = self._monotonic_of(row.parked_at)
        return entry

    def park(self, entry: Entry) -> None:
        """Note that the entry waits for a quota; the file learns of it with the next mending."""
        super().park(entry)
        now = self._clocks.wall()
        self._mark(entry, now, now + self._max_parked_age_s)

    def unpark(self, entry: Entry) -> None:
        """Note that the entry may be sent again; the file learns of it with the next mending."""
        super().unpark(entry)
        self._mark(entry, None, self._wall_of(entry.expires_at))

    def _mark(self, entry: Entry, parked_at: float | None, expires_at: float) -> None:
        if entry.row is not None:
            if not self._marks:
                self.directory.wake()
            self._marks[entry.row] = (parked_at, expires_at)

    def end(self, entry: Entry, outcome: WriteOutcome, cause: str) -> None:
        """Forget an entry that has ended."""
        number = entry.row
        kept_here = outcome if number is None or outcome is not WriteOutcome.REJECTED else None
        super().end(entry, kept_here or WriteOutcome.DROPPED, cause)
        self._adopted.pop(entry.seq, None)
        if number is None:
            self._unkept.pop(entry.seq, None)
            self._uncounted.update(("accepted", outcome.value))
            return
        self._marks.pop(number, None)
        knows, end = self._file, (outcome, cause)
        was_there = self._try(lambda file: file is knows and self._end_row(file, number, end))
        if was_there is None:
            self._unended[number] = end
        elif not was_there:  # the file that had the row was lost with it
            self._uncounted.update(("accepted", outcome.value))

    def _end_row(self, file: OutboxFile, number: int, end: _End) -> bool:
        outcome, cause = end
        if outcome is not WriteOutcome.REJECTED:
            file.end(number, self.account, self.provider, outcome)
            return True
        file.bury(
            number,
            self.account,
            self.provider,
            cause=cause,
            died_at=self._clocks.wall(),
            most=self._policy.max_dead_letters,
        )
        return True

    def hand_over(self) -> list[Entry]:
        """Forget everything, and return it: the file has it. From now on the file is left alone."""
        while not self._is_degraded and self.mend():
            pass
        self._dead_at_close = self.dead
        self._is_closed = True
        self._adopted.clear()
        self._unkept.clear()
        return super().hand_over()

    def unkept(self) -> list[Entry]:
        """Return what the file does not have, and cannot have now."""
        while self.mend():
            pass
        return list(self._unkept.values())

    def was_touched(self) -> bool:
        """Whether another process has changed the file since `withdrawn` was last asked."""
        file = self._file
        if file is None or self._is_degraded or self._is_closed:
            return False
        try:
            return file.version() != self._seen_version
        except sqlite3.Error:
            return False  # whoever writes next notices

    def withdrawn(self) -> list[Entry]:
        """Return the entries whose rows another process has deleted since this was last asked."""
        gone = self._try(self._gone) or []
        self._withdrawn.update(entry.write.key for entry in gone)
        return gone

    def _gone(self, file: OutboxFile) -> list[Entry]:
        version = file.version()
        if version == self._seen_version:
            return []
        self._seen_version = version
        numbers = file.numbers(self.account)
        return [e for e in self.entries() if e.row is not None and e.row not in numbers]

    def strays(self, file: OutboxFile) -> list[int]:
        """Return the numbers of our rows in our own file that we do not know: nobody would deliver them.

        An interrupt between a row and its entry leaves one, and so does an outbox of this account that was closed while
        this one had begun already.
        """
        if self._is_degraded or self._is_closed or file is not self._file:
            return []
        try:
            if file.waits(self.account) <= len(self) - len(self._unkept) + len(self._unended):
                return []
            known = {entry.row for entry in self.entries()}
            numbers = file.numbers(self.account)
        except sqlite3.Error:
            return []  # whoever writes next notices
        return sorted(numbers - known - self._unended.keys())

    def is_withdrawn(self, write: Write) -> bool:
        """Whether another process has deleted this write's row."""
        return write.key in self._withdrawn

    def overdue(self, now: float) -> list[Entry]:
        """Return adopted entries that are too old though younger ones wait before them."""
        return [
            entry
            for entry in self._adopted.values()
            if not entry.is_in_flight and self._given_up_at(entry) <= now
        ]

    def _given_up_at(self, entry: Entry) -> float:
        if entry.parked_at is not None:
            return entry.parked_at + self._max_parked_age_s
        return entry.expires_at

    def dead_letters(self, now: float) -> list[DeadLetter]:
        """Return the rejected writes that the file keeps, and those that it does not have yet, oldest first."""
        kept = self._try(lambda file: [each.letter for each in file.dead(self.account)]) or []
        oldest = now - self._policy.dead_letter_max_age_s
        letters = [each for each in kept if each.died_at >= oldest] + super().dead_letters(now)
        return letters[-self._policy.max_dead_letters :]

    def adopt_dead(self, letters: Sequence[DeadRow]) -> Sequence[DeadRow]:
        """Keep dead letters of another file in our own; return those that it has now."""
        most = self._policy.max_dead_letters
        return self._try(lambda file: file.add_dead(letters, most)) or []

    @property
    def dead(self) -> int:
        """How many dead letters are kept, those that the file does not have yet included."""
        if self._is_closed:
            return self._dead_at_close
        return (self._try(lambda file: file.dead_count(self.account)) or 0) + super().dead

    def note_dropped(self) -> None:
        """Note that a write was accepted only to be dropped; the file learns of it with the next mending."""
        self._uncounted.update(("accepted", WriteOutcome.DROPPED.value))

    def oldest_accepted_at(self) -> float | None:
        """Return the wall-clock second of the oldest acceptance, adopted ones included, parked ones apart."""
        times = [e.write.accepted_at for e in self._adopted.values() if e.parked_at is None]
        first = super().oldest_accepted_at()
        return min(times if first is None else (*times, first), default=None)

    def mend(self) -> bool:
        """Write what the file does not know yet, a batch at a time; return whether there is more."""
        if self._is_closed or self._knows_all():
            return False
        try:
            file = self._own()
            self._write_marks(file)
            self._write_ends(file)
            self._write_unkept(file)
            self._write_dead(file)
        except (OSError, sqlite3.Error) as error:
            self._degrade(error)
            return False
        if self._unkept or self._unended or self._marks:
            return True
        if self._is_degraded:
            self._is_degraded = False
            self.notices.restored()
        return False

    def _knows_all(self) -> bool:
        """Whether the file, which works, is up to date."""
        waits = self._unkept or self._unended or self._marks or self._uncounted or super().dead
        return not waits and not self._is_degraded and self._file is self.directory.current

    def _write_marks(self, file: OutboxFile) -> None:
        some = list(self._marks.items())[:BATCH]
        if some:
            file.mark([(parked_at, expires_at, number) for number, (parked_at, expires_at) in some])
        for number, _ in some:
            del self._marks[number]

    def _write_ends(self, file: OutboxFile) -> None:
        for number, end in list(self._unended.items())[:BATCH]:
            self._end_row(file, number, end)
            del self._unended[number]
        if self._uncounted:
            file.count(self.account, self.provider, **self._uncounted)
            self._uncounted.clear()

    def _write_unkept(self, file: OutboxFile) -> None:
        some = list(self._unkept.values())[:BATCH]
        if not some:
            return
        rows = file.adopt([self._row_of(entry) for entry in some], came_in="accepted")
        numbers = {row.write.key: row.number for row in rows}
        for entry in some:
            entry.row = numbers.get(entry.write.key)
            del self._unkept[entry.seq]

    def _write_dead(self, file: OutboxFile) -> None:
        letters = self._dead.take()
        if letters:
            dead = [DeadRow(0, self.provider, letter) for letter in letters]
            file.add_dead(dead, self._policy.max_dead_letters)

    def _row_of(self, entry: Entry) -> Row:
        row = Row(0, entry.write, self.provider, entry.size_bytes, self._wall_of(entry.expires_at))
        if entry.parked_at is None:
            return row
        parked_at = self._wall_of(entry.parked_at)
        return replace(row, parked_at=parked_at, expires_at=parked_at + self._max_parked_age_s)

    def _try(self, action: Callable[[OutboxFile], T]) -> T | None:
        """Do something with our file; None where it cannot be done, which degrades the outbox until it is mended."""
        if self._is_degraded or self._is_closed:
            return None
        try:
            return action(self._own())
        except (OSError, sqlite3.Error) as error:
            self._degrade(error)
            return None

    def _own(self) -> OutboxFile:
        file = self.directory.file()
        if file is not self._file:
            self._begin_with(file, self._waiting.values(), self._parked.values())
        return file

    def _begin_with(self, file: OutboxFile, *known: Iterable[Entry]) -> None:
        """Use a file that has nothing of ours yet."""
        self._file = file
        self._seen_version = file.version()
        self._marks.clear()
        self._unended.clear()
        for entries in known:
            for entry in entries:
                entry.row = None
                self._unkept[entry.seq] = entry

    def _degrade(self, error: OSError | sqlite3.Error) -> None:
        if self._file is not None and is_corrupt(error):
            self.directory.lose(self._file)
        if not self._is_degraded:
            self._is_degraded = True
            self.notices.degraded(self.directory.place.directory, error)
            self.directory.wake()

    def _wall_of(self, at: float) -> float:
        return self._clocks.wall() + (at - self._clocks.monotonic())

    def _monotonic_of(self, at: float) -> float:
        return self._clocks.monotonic() + (at - self._clocks.wall())
