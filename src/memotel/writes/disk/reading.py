"""What an outbox file holds: its books, its waiting writes, its dead letters. Reads only; takes an open connection."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from memotel.outcomes import Provider, WriteOutcome
from memotel.values import Write
from memotel.writes.books import Totals
from memotel.writes.deadletters import DeadLetter
from memotel.writes.disk.rows import COLUMNS, Row, row_of, unpack
from memotel.writes.disk.schema import CAME_IN, WENT_OUT

_NUMBERS = CAME_IN + WENT_OUT
_TOTALS = f"SELECT account, provider, {', '.join(_NUMBERS)} FROM totals"  # noqa: S608 # fixed names
_WAITING = (
    "SELECT account, count(*), count(parked_at), coalesce(sum(size_bytes), 0), min(accepted_at)"
    " FROM writes GROUP BY account"
)


@dataclass(frozen=True, slots=True)
class AccountBooks:
    """What a file says of one account.

    Attributes:
        account: account key.
        provider: its service.
        totals: the conservation law, of this file.
        dead: how many dead letters it keeps.
        oldest_accepted_at: wall-clock seconds of the oldest write that waits; None where none does.
    """

    account: str
    provider: str
    totals: Totals
    dead: int
    oldest_accepted_at: float | None


def read_books(db: sqlite3.Connection) -> dict[str, AccountBooks]:
    """Return the books of every account in a file, all of one instant."""
    db.execute("BEGIN")
    try:
        totals = db.execute(_TOTALS).fetchall()
        waiting = {account: rest for account, *rest in db.execute(_WAITING)}
        dead = dict(db.execute("SELECT account, count(*) FROM dead GROUP BY account").fetchall())
    finally:
        db.execute("COMMIT")
    result = {}
    for account, provider, *numbers in totals:
        pending, parked, size_bytes, oldest = waiting.get(account, (0, 0, 0, None))
        known = dict(zip(_NUMBERS, numbers, strict=True))
        books = Totals(
            accepted=known["accepted"],
            adopted=known["adopted"],
            resent=known["resent"],
            handed_over=known["handed_over"],
            ended={outcome: known[outcome.value] for outcome in WriteOutcome},
            pending=pending,
            parked=parked,
            size_bytes=size_bytes,
        )
        result[account] = AccountBooks(account, provider, books, dead.get(account, 0), oldest)
    return result


def read_rows(
    db: sqlite3.Connection, account: str, *, limit: int = -1, after: int = 0
) -> tuple[list[Row], list[int]]:
    """Return an account's waiting writes beyond the number `after`, oldest first, and the numbers of unreadable ones."""
    found = db.execute(
        f"SELECT {COLUMNS} FROM writes WHERE account = ? AND number > ? ORDER BY number LIMIT ?",  # noqa: S608 # fixed names
        (account, after, limit),
    )
    rows, unreadable = [], []
    for values in found.fetchall():
        try:
            rows.append(row_of(values))
        except ValueError:
            unreadable.append(int(values[0]))
    return rows, unreadable


@dataclass(frozen=True, slots=True)
class DeadRow:
    """A dead letter in a file, and what the file knows it by."""

    number: int
    provider: Provider
    letter: DeadLetter

    @property
    def write(self) -> Write:
        """The write that was rejected."""
        return self.letter.write


def read_dead(db: sqlite3.Connection, account: str | None = None) -> Iterator[DeadRow]:
    """Return dead letters, oldest first: an account's, or all. What cannot be read is left out."""
    found = db.execute(
        "SELECT number, account, key, provider, accepted_at, died_at, cause, body FROM dead"
        " WHERE ?1 IS NULL OR account = ?1 ORDER BY number",
        (account,),
    )
    for number, owner, key, provider, accepted_at, died_at, cause, body in found.fetchall():
        try:
            letter = DeadLetter(unpack(body, owner, key, accepted_at), cause, died_at)
            yield DeadRow(number, Provider(provider), letter)
        except ValueError:
            continue
