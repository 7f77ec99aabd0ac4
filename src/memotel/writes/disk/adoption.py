"""Taking over what ended processes left: in our own file first, then gone there, so that a crash between loses nothing."""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memotel.writes.disk.file import OutboxFile
from memotel.writes.disk.filelock import FileLock
from memotel.writes.disk.schema import (
    NewerFileError,
    is_corrupt,
    remains,
    set_aside,
    unlink,
)

if TYPE_CHECKING:
    from memotel.writes.disk.directory import Member

BATCH: Final = 500
"""Rows that move in one transaction."""


class Visit:
    """One round through the files of others. What it meets of accounts that nobody here holds stays: `foreign`.

    Args:
        members: the accounts of this process, by key.
        now: wall-clock seconds.
        dead_max_age_s: dead letters older than this go, whoever they belong to.
        told: files of a newer memotel that were said to be left alone; filled here.
    """

    def __init__(
        self,
        members: "Mapping[str, Member]",
        now: float,
        dead_max_age_s: float,
        told: set[Path],
    ) -> None:
        self.foreign: Counter[str] = Counter()
        self._members = members
        self._now = now
        self._dead_max_age_s = dead_max_age_s
        self._told = told

    def file(self, path: Path) -> None:
        """Adopt what is ours from a file whose owner has ended; remove it where nothing is left in it."""
        try:
            orphan = OutboxFile.take(path)
        except NewerFileError:
            self._leave_alone(path)
            return
        except (OSError, sqlite3.Error) as error:
            if is_corrupt(error):
                self._set_aside(path)
            return
        if orphan is None:
            return
        try:
            self._empty(orphan)
        except (OSError, sqlite3.Error) as error:
            if is_corrupt(error):
                orphan.release()
                self._set_aside(path)
        finally:
            orphan.release()

    def remains(self, directory: Path) -> None:
        """Remove locks and logs whose file is gone: somebody ended between removing the one and the other."""
        for path in remains(directory):
            _remove_remains(path)

    def _empty(self, orphan: OutboxFile) -> None:
        orphan.prune(self._now, self._dead_max_age_s)
        has_foreign = False
        for account, books in orphan.books().items():
            member = self._members.get(account)
            if member is not None:
                _move(orphan, member)
            elif books.totals.pending:
                has_foreign = True
        if has_foreign:
            orphan.expire(self._now)
        for account, books in orphan.books().items():
            if account not in self._members:
                self.foreign[books.provider] += books.totals.pending

    def _leave_alone(self, path: Path) -> None:
        if path not in self._told:
            self._told.add(path)
            for member in self._members.values():
                member.newer(path.name)

    def _set_aside(self, path: Path) -> None:
        lock = FileLock.take(path)
        if lock is None:
            return
        try:
            set_aside(path)
        except OSError:
            lock.release()
            return
        lock.remove()
        for member in self._members.values():
            member.damaged(path.name)


def _move(orphan: OutboxFile, member: "Member") -> None:
    """Move what an account has in a file. A purge from outside comes before a batch or after it, never amid it."""
    after: int | None = 0
    is_checked = False
    while after is not None and member.has_room():
        if not is_checked and orphan.rows(member.account, limit=1) != ([], []):
            orphan.check()
            is_checked = True
        with orphan.moving():
            after = _move_batch(orphan, member, after)
    with orphan.moving():
        letters = orphan.dead(member.account)
        for start in range(0, len(letters), BATCH):
            orphan.forget_dead(member.adopt_dead(letters[start : start + BATCH]))


def _move_batch(orphan: OutboxFile, member: "Member", after: int) -> int | None:
    """Move the next rows; return the number of the last that was looked at, None where there is none, or no room, any more."""
    rows, unreadable = orphan.rows(member.account, limit=BATCH, after=after)
    if unreadable:
        member.unreadable(orphan.drop(member.account, member.provider, unreadable))
    if not rows and not unreadable:
        return None
    taken = member.adopt(rows) if rows else []
    numbers = {row.number for row in taken}
    orphan.hand_over(member.account, member.provider, sorted(numbers))
    if any(row.parked_at is None and row.number not in numbers for row in rows):
        return None
    return max((*unreadable, *(row.number for row in rows)))


def _remove_remains(path: Path) -> None:
    try:
        lock = FileLock.take(path)
    except OSError:
        return
    if lock is None:
        return
    try:
        if not path.exists():
            unlink(path)
            lock.remove()
    except OSError:
        pass  # the directory is read-only now
    finally:
        lock.release()
