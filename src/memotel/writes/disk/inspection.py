"""Outbox files seen from outside: what each holds, and what may be done to it while its owner lives, or after.

Every function takes files as they are on disk and waits for nobody longer than a second. A file that cannot be read says
so in its `problem`; it is left as it is.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from memotel.outcomes import WriteOutcome
from memotel.values import Write
from memotel.writes.disk.file import OutboxFile
from memotel.writes.disk.filelock import FileLock, lock_path
from memotel.writes.disk.moves import forget_dead
from memotel.writes.disk.reading import (
    AccountBooks,
    DeadRow,
    read_books,
    read_dead,
    read_rows,
)
from memotel.writes.disk.rows import Row
from memotel.writes.disk.schema import NewerFileError, connect, outbox_files, parts_of
from memotel.writes.outbox import size_bytes

T = TypeVar("T")

BATCH: Final = 500
"""Rows that one transaction changes, so that a living owner never waits long."""

MOST_PASSES: Final = 10
"""How often a purge looks again: a row may move to another file while it is looked for."""

CLEAN_PASSES: Final = 2
"""How often it has to find nothing: a row may move to a file that was looked into just before."""

MOST_OVERWRITES: Final = 3
"""How often a purge tries to empty a file's log, each time for as long as it waits for anyone."""

DEFAULT_AGE_S: Final = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class Inspection:
    """One outbox file.

    Attributes:
        path: where it is.
        is_owned: whether the process that it belongs to lives; else the next process that can delivers what it holds.
        origin: `pid`, `host` and `created_at` of the process that made it, as text.
        accounts: the books, by account key.
        problem: why it cannot be read, in a few words; None where it can.
    """

    path: Path
    is_owned: bool
    origin: dict[str, str] = field(default_factory=dict)
    accounts: dict[str, AccountBooks] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which writes are meant: those that fit everything that is given.

    Attributes:
        user: user id.
        session: session id.
        account: account key.
        older_than_s: seconds since the write was accepted.
        keys: idempotency keys.
    """

    user: str | None = None
    session: str | None = None
    account: str | None = None
    older_than_s: float | None = None
    keys: frozenset[str] | None = None

    def fits(self, write: Write, now: float) -> bool:
        """Whether a write is meant; `now` is wall-clock seconds."""
        scope = write.turn.scope
        return (
            self.user in (None, scope.user_id)
            and self.session in (None, scope.session_id)
            and self.account in (None, write.account)
            and (self.older_than_s is None or now - write.accepted_at > self.older_than_s)
            and (self.keys is None or write.key in self.keys)
        )


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge removed: writes that waited (counted `dropped` in their file), and dead letters.

    `in_use` names the files whose log could not be emptied, since somebody reads it: what was removed may lie there still.
    """

    waiting: int = 0
    dead: int = 0
    in_use: frozenset[str] = frozenset()

    def __add__(self, other: "Purged") -> "Purged":
        in_use = self.in_use | other.in_use
        return Purged(self.waiting + other.waiting, self.dead + other.dead, in_use)


def inspect(path: Path) -> Inspection:
    """Return what a file holds. Takes no lock: its owner works on."""
    is_owned = FileLock.is_held(path)
    try:
        with _opened(path) as db:
            origin = dict(db.execute("SELECT name, value FROM origin").fetchall())
            return Inspection(path, is_owned, origin, read_books(db))
    except (OSError, sqlite3.Error, NewerFileError) as error:
        return Inspection(path, is_owned, problem=str(error) or type(error).__name__)


def waiting(path: Path) -> list[Row]:
    """Return every readable write that waits in a file, oldest first. Raises `sqlite3.Error`, `NewerFileError`."""
    with _opened(path) as db:
        rows = [row for account in read_books(db) for row in read_rows(db, account)[0]]
    return sorted(rows, key=lambda row: row.number)


def dead_letters(path: Path) -> list[DeadRow]:
    """Return every readable dead letter of a file, oldest first. Raises `sqlite3.Error`, `NewerFileError`."""
    with _opened(path) as db:
        return list(read_dead(db))


def purge(
    directory: Path,
    selection: Selection,
    *,
    is_waiting: bool = True,
    is_dead: bool = True,
    now: float | None = None,
) -> Purged:
    """Remove what is meant from every file of a directory, living owners' included, and overwrite it on disk.

    An owner sends nothing that is gone; a write that is in flight just then may still arrive. What moves to another
    file meanwhile is found there: it looks until it finds nothing more.

    Args:
        directory: where the files are.
        selection: which writes are meant.
        is_waiting: remove writes that wait, parked ones included.
        is_dead: remove dead letters.
        now: wall-clock seconds; None = now.
    """
    at = time.time() if now is None else now
    total = Purged()
    clean = 0
    for _ in range(MOST_PASSES):
        found = Purged()
        for path in outbox_files(directory):
            found += _purge_file(path, selection, at, is_waiting=is_waiting, is_dead=is_dead)
        total += found
        clean = 0 if found.waiting or found.dead else clean + 1
        if clean == CLEAN_PASSES:
            break
    return total


def resend(
    directory: Path,
    selection: Selection,
    *,
    max_age_s: float = DEFAULT_AGE_S,
    now: float | None = None,
) -> int:
    """Put the dead letters that are meant back into an outbox, and return how many.

    They go to a file of their own that nobody owns: a process that holds their account adopts and delivers them. They
    are given up `max_age_s` seconds from now. Raises `OSError` or `sqlite3.Error` where no file can be made.
    """
    at = time.time() if now is None else now
    sent = 0
    for path in outbox_files(directory):
        try:
            letters = [each for each in dead_letters(path) if selection.fits(each.write, at)]
        except (sqlite3.Error, OSError, NewerFileError):
            continue
        if letters:
            sent += _resend(path, letters, at + max_age_s)
    return sent


def _resend(path: Path, letters: Sequence[DeadRow], expires_at: float) -> int:
    """Move dead letters of one file to a file of their own: first there, then not here, so that none is lost."""
    fresh = OutboxFile.create(path.parent)
    try:
        _give(fresh.path, path.stat())
        sent = sum(
            len(fresh.adopt([_again(each, expires_at) for each in some], came_in="resent"))
            for some in _by_account(letters)
        )
        with _opened(path) as db:
            for some in _batches(letters):
                with _transaction(db):
                    forget_dead(db, some)
    finally:
        fresh.release()
    return sent


def _give(path: Path, like: os.stat_result) -> None:
    """Give a file that root has made to whoever has the other: its processes could not open it else."""
    if os.geteuid() == 0:
        for part in (*parts_of(path), lock_path(path)):
            if part.exists():
                os.chown(part, like.st_uid, like.st_gid, follow_symlinks=False)


def _again(dead: DeadRow, expires_at: float) -> Row:
    return Row(0, dead.write, dead.provider, size_bytes(dead.write), expires_at)


def _by_account(letters: Sequence[DeadRow]) -> list[list[DeadRow]]:
    result: dict[str, list[DeadRow]] = {}
    for each in letters:
        result.setdefault(each.write.account, []).append(each)
    return list(result.values())


def _purge_file(
    path: Path, selection: Selection, now: float, *, is_waiting: bool, is_dead: bool
) -> Purged:
    try:
        with _opened(path) as db:
            rows = _meant_rows(db, selection, now) if is_waiting else []
            letters = [d for d in read_dead(db) if is_dead and selection.fits(d.write, now)]
            gone = sum(_drop(db, some) for some in _batches(rows))
            buried = sum(_forget(db, some) for some in _batches(letters))
            is_gone = not (gone or buried) or _is_overwritten(db)
            return Purged(gone, buried, frozenset(() if is_gone else (path.name,)))
    except (sqlite3.Error, OSError, NewerFileError):
        return Purged()


def _is_overwritten(db: sqlite3.Connection) -> bool:
    """Empty a file's log, which holds what was removed; return whether that could be done."""
    return any(
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        for _ in range(MOST_OVERWRITES)
    )


def _meant_rows(db: sqlite3.Connection, selection: Selection, now: float) -> list[Row]:
    found = (row for account in read_books(db) for row in read_rows(db, account)[0])
    return [row for row in found if selection.fits(row.write, now)]


def _drop(db: sqlite3.Connection, rows: Sequence[Row]) -> int:
    dropped = WriteOutcome.DROPPED.value
    gone = 0
    with _transaction(db):
        for row in rows:
            was_there = db.execute(
                "DELETE FROM writes WHERE number = ? AND key = ?", (row.number, row.write.key)
            ).rowcount
            gone += was_there
            db.execute(
                f"UPDATE totals SET {dropped} = {dropped} + ? WHERE account = ?",  # noqa: S608 # a fixed name
                (was_there, row.write.account),
            )
    return gone


def _forget(db: sqlite3.Connection, letters: Sequence[DeadRow]) -> int:
    with _transaction(db):
        return forget_dead(db, letters)


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    db = connect(path)
    try:
        yield db
    finally:
        db.close()


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
