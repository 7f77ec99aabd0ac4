"""The moves of writes in an outbox file, each with its count. Inside a transaction of the caller's, but for `end`."""

import sqlite3
from collections.abc import Sequence
from typing import Final

from memotel.outcomes import WriteOutcome
from memotel.writes.disk.reading import DeadRow
from memotel.writes.disk.rows import pack

Owner = tuple[str, str]
"""(account key, provider)."""

_ENDED: Final = ", ".join(
    f"{outcome.value} = {outcome.value} + (NEW.came_in = '{outcome.value}')"
    for outcome in WriteOutcome
)
_COUNT_OUT: Final = f"""
CREATE TEMP TRIGGER count_out AFTER UPDATE OF came_in ON main.writes BEGIN
  UPDATE totals SET {_ENDED} WHERE account = NEW.account;
  DELETE FROM writes WHERE number = NEW.number;
END
"""  # noqa: S608 # names of our own columns
_BURY: Final = (
    "INSERT OR REPLACE INTO dead (account, key, provider, accepted_at, died_at, cause, body)"
    " SELECT account, key, provider, accepted_at, ?, ?, body FROM writes WHERE number = ?"
)
_ADD_DEAD: Final = (
    "INSERT OR IGNORE INTO dead (account, key, provider, accepted_at, died_at, cause, body)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_KEEP_NEWEST: Final = (
    "DELETE FROM dead WHERE number IN"
    " (SELECT number FROM dead WHERE account = ? ORDER BY number DESC LIMIT -1 OFFSET ?)"
)
_KEEP_YOUNGEST: Final = _KEEP_NEWEST.replace("ORDER BY", "ORDER BY died_at DESC,", 1)
"""Of letters that come from elsewhere the last one in is not the last that died."""

_END: Final = "UPDATE writes SET came_in = ? WHERE number = ?"


def prepare(db: sqlite3.Connection) -> None:
    """Have this connection, which is the owner's, end a write by one statement: `end`."""
    db.execute(_COUNT_OUT)


def end(db: sqlite3.Connection, number: int, outcome: WriteOutcome) -> bool:
    """Delete a row and count its end, outside of a transaction; return False, changing nothing, where it is gone.

    One statement, since at each the caller lets go of the interpreter, with locks that others wait for in its hands.
    """
    return db.execute(_END, (outcome.value, number)).rowcount == 1


def count(db: sqlite3.Connection, owner: Owner, **by: int) -> None:
    """Add to the numbers of an account's books, which are begun where there are none."""
    sets = ", ".join(f"{name} = {name} + ?" for name in by)
    change = f"UPDATE totals SET {sets} WHERE account = ?"  # noqa: S608 # names of our own columns
    values = (*by.values(), owner[0])
    if db.execute(change, values).rowcount == 0:
        db.execute("INSERT INTO totals (account, provider) VALUES (?, ?)", owner)
        db.execute(change, values)


def delete(db: sqlite3.Connection, number: int) -> int:
    """Delete a row; return how many there were: one, or none."""
    return db.execute("DELETE FROM writes WHERE number = ?", (number,)).rowcount


def end_row(db: sqlite3.Connection, number: int, owner: Owner, outcome: WriteOutcome) -> None:
    """Delete a row and count its end. One that was purged while it was in flight was counted `dropped` then."""
    by = {outcome.value: 1}
    if delete(db, number) == 0:
        by = {WriteOutcome.DROPPED.value: -1, **by} if outcome is not WriteOutcome.DROPPED else {}
    if by:
        count(db, owner, **by)


def bury(
    db: sqlite3.Connection, number: int, account: str, *, cause: str, died_at: float, most: int
) -> None:
    """Make a dead letter of a row, which stays; the account's newest `most` letters do too."""
    db.execute(_BURY, (died_at, cause, number))
    db.execute(_KEEP_NEWEST, (account, most))


def add_dead(db: sqlite3.Connection, letters: Sequence[DeadRow], most: int) -> None:
    """Add dead letters of one account that come from elsewhere; the youngest `most` of the account stay."""
    for each in letters:
        write, letter = each.write, each.letter
        values = (write.account, write.key, each.provider.value, write.accepted_at)
        db.execute(_ADD_DEAD, (*values, letter.died_at, letter.cause, pack(write)))
    db.execute(_KEEP_YOUNGEST, (letters[0].write.account, most))


def forget_dead(db: sqlite3.Connection, letters: Sequence[DeadRow]) -> int:
    """Delete dead letters, return how many there were. Another may have the number by now of one that is gone."""
    which = [(each.number, each.write.key) for each in letters]
    return db.executemany("DELETE FROM dead WHERE number = ? AND key = ?", which).rowcount


def roll_back(db: sqlite3.Connection) -> None:
    """Undo what was begun, where it has not been undone already."""
    try:
        if db.in_transaction:
            db.execute("ROLLBACK")
    except sqlite3.Error:
        pass  # what brought us here rolled it back already
