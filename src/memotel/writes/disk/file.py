"""One outbox file and its owner's hold on it: every move of a write and its count are one transaction."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from memotel.outcomes import Provider, WriteOutcome
from memotel.values import Write
from memotel.writes.disk import schema
from memotel.writes.disk.filelock import FileLock
from memotel.writes.disk.forkgate import FileGate, opening
from memotel.writes.disk.moves import (
    add_dead,
    bury,
    count,
    delete,
    end,
    end_row,
    forget_dead,
    prepare,
    roll_back,
)
from memotel.writes.disk.reading import (
    AccountBooks,
    DeadRow,
    read_books,
    read_dead,
    read_rows,
)
from memotel.writes.disk.rows import COLUMNS, Row, pack, values_of
from memotel.writes.disk.schema import never_collect, place_of, set_aside, unlink

_PUT = f"INSERT INTO writes ({COLUMNS}, came_in) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 # fixed names
_ADOPT = _PUT.replace("INSERT", "INSERT OR IGNORE", 1)
CHECKPOINT_AFTER = 1_000
"""Transactions after which the log, some 16 MB by then, is moved into the file: by whoever looks after it, not amid a turn."""

_FALLBACK_PAGES = 10_000
"""Pages of log that SQLite itself moves, amid a commit: nobody looks after the file."""


class OutboxFile:
    """An outbox file that this process owns, from `create` or `take` to `release` or `remove`. Thread-safe.

    Every method raises `sqlite3.Error` where the file cannot do it; then nothing has changed.
    """

    def __init__(self, path: Path, lock: FileLock, db: sqlite3.Connection) -> None:
        self.path = path
        self._flock = lock
        self._db = db
        self._gate = FileGate()
        self._lock = self._gate.lock
        (last,) = db.execute("SELECT coalesce(max(number), 0) FROM writes").fetchone()
        self._last_number = int(last)
        self._place = place_of(path)
        self._is_open = True
        self._changes = 0
        self._is_moving = False
        self._log: sqlite3.Connection | None = None
        self._log_gate = FileGate()
        self.on_growth: Callable[[], object] = _do_nothing
        never_collect(db)
        prepare(db)

    @classmethod
    def create(cls, directory: Path, *, is_full_sync: bool = False) -> "OutboxFile":
        """Make a file of our own in `directory`. Raises `OSError` or `sqlite3.Error`."""
        path, lock = FileLock.take_new(directory)
        try:
            schema.create(path)
            with opening:
                db = schema.connect(path, is_full_sync=is_full_sync)
                db.execute(f"PRAGMA wal_autocheckpoint = {_FALLBACK_PAGES}")
                db.executemany(
                    "INSERT OR REPLACE INTO origin (name, value) VALUES (?, ?)", schema.origin()
                )
                return cls(path, lock, db)
        except BaseException:
            unlink(path)
            lock.remove()
            raise

    @classmethod
    def take(cls, path: Path) -> "OutboxFile | None":
        """Take over the file at `path`; None where its owner lives, or it is gone.

        A file of somebody whom we have no reason to trust is left too. Raises `OSError`, `sqlite3.Error`
        (`schema.is_corrupt` tells damage), or `NewerFileError`.
        """
        if path.exists() and not schema.is_trusted(path):
            return None
        lock = FileLock.take(path)
        if lock is None:
            return None
        if not path.exists():
            lock.remove()
            return None
        try:
            with opening:
                return cls(path, lock, schema.connect(path))
        except BaseException:
            lock.release()
            raise

    def put(self, write: Write, provider: Provider, size_bytes: int, expires_at: float) -> int:
        """Keep an accepted write and return its number; 0 where its key waits already."""
        body = pack(write)
        values = (write.account, write.key, provider.value, size_bytes, write.accepted_at)
        with self._lock:
            number = self._next_number()
            try:
                self._db.execute(_PUT, (number, *values, expires_at, None, body, "accepted"))
            except sqlite3.IntegrityError:
                return 0
            self._changed()
            return number

    def adopt(self, rows: Sequence[Row], *, came_in: str = "adopted") -> list[Row]:
        """Take in rows of one account, all or none; return those whose key did not wait here already, renumbered."""
        with self._transaction() as db:
            taken = []
            for row in rows:
                own = replace(row, number=self._next_number())
                if db.execute(_ADOPT, (*values_of(own), came_in)).rowcount == 1:
                    taken.append(own)
            return taken

    def hand_over(self, account: str, provider: Provider, numbers: Sequence[int]) -> list[int]:
        """Forget rows that another file has taken in; return those that were there."""
        return self._leave(account, provider, numbers, "handed_over")

    def drop(self, account: str, provider: Provider, numbers: Sequence[int]) -> int:
        """Forget rows that nobody can deliver; return how many there were."""
        return len(self._leave(account, provider, numbers, WriteOutcome.DROPPED.value))

    def _leave(
        self, account: str, provider: Provider, numbers: Sequence[int], went_out: str
    ) -> list[int]:
        with self._transaction() as db:
            gone = [number for number in numbers if delete(db, number)]
            count(db, (account, provider), **{went_out: len(gone)})
            return gone

    def end(self, number: int, account: str, provider: Provider, outcome: WriteOutcome) -> None:
        """Forget a row that has ended."""
        with self._lock:
            if end(self._db, number, outcome):
                self._changed()
                return
        with self._transaction() as db:
            end_row(db, number, (account, provider), outcome)

    def bury(
        self,
        number: int,
        account: str,
        provider: Provider,
        *,
        cause: str,
        died_at: float,
        most: int,
    ) -> None:
        """Make a row a dead letter; the account's newest `most` stay."""
        with self._transaction() as db:
            bury(db, number, account, cause=cause, died_at=died_at, most=most)
            end_row(db, number, (account, provider), WriteOutcome.REJECTED)

    def count(self, account: str, provider: Provider, **by: int) -> None:
        """Count moves of writes that never had a row."""
        with self._transaction() as db:
            count(db, (account, provider), **by)

    def mark(self, marks: Sequence[tuple[float | None, float, int]]) -> None:
        """Note since when rows are parked (None: they are not) and until when they are kept: (parked, expires, number)."""
        with self._transaction() as db:
            db.executemany(
                "UPDATE writes SET parked_at = ?, expires_at = ? WHERE number = ?", marks
            )

    def prune(self, now: float, dead_max_age_s: float) -> None:
        """Forget dead letters that are too old."""
        with self._transaction() as db:
            db.execute("DELETE FROM dead WHERE died_at < ?", (now - dead_max_age_s,))

    def expire(self, now: float) -> int:
        """End the rows that are past their time, whoever they belong to; return how many. For a file nobody delivers."""
        with self._transaction() as db:
            late = db.execute(
                "SELECT number, account, provider, parked_at FROM writes WHERE expires_at < ?",
                (now,),
            ).fetchall()
            for number, account, provider, parked_at in late:
                outcome = WriteOutcome.EXPIRED if parked_at is None else WriteOutcome.QUOTA
                end_row(db, number, (account, provider), outcome)
            return len(late)

    def add_dead(self, letters: Sequence[DeadRow], most: int) -> Sequence[DeadRow]:
        """Keep dead letters of one account that come from elsewhere; return them."""
        with self._transaction() as db:
            if letters:
                add_dead(db, letters, most)
                owner = (letters[0].write.account, letters[0].provider)
                count(db, owner, adopted=0)  # an account that has letters has books
        return letters

    def forget_dead(self, letters: Sequence[DeadRow]) -> None:
        """Forget dead letters."""
        with self._transaction() as db:
            forget_dead(db, letters)

    def books(self) -> dict[str, AccountBooks]:
        """Return the books of every account, all of one instant."""
        with self._lock:
            return read_books(self._db)

    def rows(self, account: str, *, limit: int = -1, after: int = 0) -> tuple[list[Row], list[int]]:
        """Return an account's waiting writes, oldest first, and the numbers of unreadable ones."""
        with self._lock:
            return read_rows(self._db, account, limit=limit, after=after)

    def dead(self, account: str) -> list[DeadRow]:
        """Return an account's dead letters, oldest first."""
        with self._lock:
            return list(read_dead(self._db, account))

    def dead_count(self, account: str) -> int:
        """Return how many dead letters an account has."""
        with self._lock:
            (found,) = self._db.execute(
                "SELECT count(*) FROM dead WHERE account = ?", (account,)
            ).fetchone()
            return int(found)

    def version(self) -> int:
        """Return a number that changes whenever another process changes the file: some rows may be gone then."""
        with self._lock:
            return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def numbers(self, account: str) -> set[int]:
        """Return the numbers of an account's waiting writes."""
        with self._lock:
            which = "SELECT number FROM writes WHERE account = ?"
            return {number for (number,) in self._db.execute(which, (account,))}

    def waits(self, account: str) -> int:
        """Return how many writes of an account wait."""
        with self._lock:
            which = "SELECT count(*) FROM writes WHERE account = ?"
            return int(self._db.execute(which, (account,)).fetchone()[0])

    def is_empty(self) -> bool:
        """Whether nothing waits and no dead letter is kept."""
        with self._lock:
            (held,) = self._db.execute(
                "SELECT EXISTS (SELECT 1 FROM writes) OR EXISTS (SELECT 1 FROM dead)"
            ).fetchone()
            return not held

    def is_in_place(self) -> bool:
        """Whether the file still lies where it was made, and is ours: a removed directory takes it along.

        A lock that somebody has removed is made anew, where nobody was quicker.
        """
        if schema.is_gone(self.path, self._place):
            return False
        if not self._flock.is_in_place():
            fresh = FileLock.retake(self.path)
            if fresh is None:
                return False
            self._flock.release()
            self._flock = fresh
        return True

    @property
    def is_ours(self) -> bool:
        """Whether nobody else has taken it: the lock that says so may have been removed."""
        return self._flock.is_in_place()

    def check(self) -> None:
        """Raise `sqlite3.DatabaseError` where the file is damaged; reads all of it."""
        with self._lock:
            schema.check(self._db)

    def checkpoint(self) -> None:
        """Move what the log holds into the file, where that is worth it; commits go on meanwhile."""
        if self._changes < CHECKPOINT_AFTER:
            return
        self._changes = 0
        with opening, self._log_gate.lock:
            if self._log is None and self._is_open:
                self._log = schema.connect(self.path)
                never_collect(self._log)
        with self._log_gate.lock:
            if self._log is None or not self._is_open:
                return
            self._log.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        with self._lock:  # commits wait for the little that has come meanwhile: the log begins anew
            if self._is_open:
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def tidy(self) -> None:
        """Empty the log where nothing waits, so that delivered words do not linger there."""
        with self._lock:
            log = schema.parts_of(self.path)[1]
            (waits,) = self._db.execute("SELECT EXISTS (SELECT 1 FROM writes)").fetchone()
            if not waits and log.exists() and log.stat().st_size:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def release(self) -> None:
        """Leave the file to whoever wants it; one in which there is nothing goes, where it can. Idempotent."""
        try:
            is_empty = self._is_open and self.is_ours and self.is_empty()
        except sqlite3.Error:
            is_empty = False
        try:
            if self._close() and is_empty:
                unlink(self.path)
                self._flock.remove()
        except OSError:
            pass  # the directory is read-only now: the next process removes it
        finally:
            self._flock.release()

    def set_aside(self) -> Path:
        """Put a damaged file out of the way, for somebody to look at; return where it is."""
        self._close()
        try:
            place = set_aside(self.path)
            self._flock.remove()
            return place
        finally:
            self._flock.release()

    def _close(self) -> bool:
        """Close the connection; return whether it was open."""
        with self._lock:
            was_open, self._is_open = self._is_open, False
            self._db.close()
        with self._log_gate.lock:
            if self._log is not None:
                self._log.close()
        return was_open

    def _next_number(self) -> int:
        """Return a number that no row has. It is used up at once: an interrupt may come between a row and what follows it."""
        self._last_number += 1
        return self._last_number

    def _changed(self) -> None:
        self._changes += 1
        if self._changes == CHECKPOINT_AFTER:
            self.on_growth()

    @contextmanager
    def moving(self) -> Iterator[None]:
        """Let nobody change the file between what is read of it and what is forgotten of it. For the one thread that has it."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            self._is_moving = True
        try:
            yield
            with self._lock:
                self._db.execute("COMMIT")
        except BaseException:
            with self._lock:
                roll_back(self._db)
            raise
        finally:
            self._is_moving = False

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._is_moving:
                yield self._db
                return
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
                self._changed()
            except BaseException:
                roll_back(self._db)
                raise


def _do_nothing() -> None:
    """Nobody looks after the file."""
