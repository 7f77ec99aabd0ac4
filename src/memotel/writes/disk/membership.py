"""What an outbox directory asks of one account: to take writes over, and to look after its own. See `Member` there."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memotel.counts import Count
from memotel.outcomes import WriteOutcome
from memotel.writes.disk.file import OutboxFile
from memotel.writes.disk.reading import DeadRow
from memotel.writes.disk.rows import Row
from memotel.writes.host import Host

if TYPE_CHECKING:
    from memotel.writes.disk.outbox import SqliteOutbox


class Membership:
    """An account's place in an outbox directory. Thread-safe; the directory calls it on a thread of its own."""

    def __init__(self, outbox: "SqliteOutbox", host: Host) -> None:
        self.account = host.account
        self.provider = host.provider
        self._outbox = outbox
        self._host = host
        self._ledger = host.ledger

    def has_room(self) -> bool:
        """Whether at least one more write may wait."""
        return self._ledger.has_room()

    def adopt(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Take in the rows for which there is room."""
        host = self._host
        taken, entries = self._ledger.adopt(rows, host.plan, max_parked=host.max_parked)
        for entry in entries:
            host.sightings.note(entry.write.key, entry.write.turn.observer)
        if entries:
            self._outbox.notices.adopted(len(entries))
            host.wake()
        return taken

    def adopt_dead(self, letters: Sequence[DeadRow]) -> Sequence[DeadRow]:
        """Take dead letters over."""
        return self._ledger.as_one_step(lambda: self._outbox.adopt_dead(letters))

    def strays(self, file: OutboxFile) -> Sequence[int]:
        """Return the numbers of the account's rows in our own file that nobody here will deliver."""
        return self._ledger.as_one_step(lambda: self._outbox.strays(file))

    def tend(self) -> None:
        """Write what the file does not know yet; end what was purged, or is too old behind younger writes."""
        while self._ledger.mend():
            pass
        for entry in self._ledger.withdrawn():
            self._host.end(entry, WriteOutcome.DROPPED, "purged")
        for entry in self._ledger.overdue(self._host.monotonic()):
            if entry.parked_at is None:
                self._host.end(entry, WriteOutcome.EXPIRED, "age")
            else:
                self._host.end(entry, WriteOutcome.QUOTA, "parked_age")

    def damaged(self, name: str) -> None:
        """Say and count that a file was set aside."""
        self._host.counts.add(Count.OUTBOX_DAMAGED, self.provider)
        self._outbox.notices.damaged(name)

    def newer(self, name: str) -> None:
        """Say that a file of a newer memotel is left alone."""
        self._outbox.notices.newer(name)

    def unreadable(self, writes: int) -> None:
        """Say that writes could not be read and were dropped."""
        self._outbox.notices.unreadable(writes)
