"""What the files of a directory hold, as values that a table and JSON are made of."""

import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memotel.outcomes import Provider
from memotel.values import Json, Write
from memotel.writes.disk.inspection import Inspection, Selection, dead_letters, inspect, waiting
from memotel.writes.disk.reading import AccountBooks
from memotel.writes.disk.schema import NewerFileError, outbox_files

WAITING, PARKED, DEAD = "waiting", "parked", "dead"


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that could not be looked into: its name, and why in a few words."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Listed:
    """One write in a file.

    Attributes:
        file: the file's name.
        state: `waiting`, `parked` (it waits for a quota), or `dead` (rejected for good).
        write: the write.
        provider: its service.
        cause: why it was rejected; empty unless it is dead.
    """

    file: str
    state: str
    write: Write
    provider: Provider
    cause: str = ""

    def as_json(self, *, is_content_shown: bool) -> dict[str, Json]:
        """Return it as a JSON object; the words and the metadata only where they are asked for."""
        turn = self.write.turn
        shown: dict[str, Json] = {
            "file": self.file,
            "state": self.state,
            "provider": self.provider.value,
            "account": self.write.account,
            "key": self.write.key,
            "user": turn.scope.user_id,
            "session": turn.scope.session_id,
            "speaker": turn.speaker.value,
            "chars": len(turn.text),
            "accepted_at": self.write.accepted_at,
            "cause": self.cause,
        }
        if is_content_shown:
            shown |= {"text": turn.text, "metadata": dict(turn.metadata)}
        return shown


def inspected(directory: Path) -> list[Inspection]:
    """Return what each file holds, oldest first; one that goes meanwhile is left out."""
    found = (inspect(path) for path in outbox_files(directory))
    return [each for each in found if each.problem is None or each.path.exists()]


def problems(found: list[Inspection]) -> list[Problem]:
    """Return the files among them that could not be read."""
    return [Problem(each.path.name, each.problem) for each in found if each.problem is not None]


def set_aside(directory: Path) -> list[Problem]:
    """Return the damaged files that were put out of the way: nobody delivers or purges what they hold."""
    return [
        Problem(path.name, "damaged and set aside; it may hold words: look at it, then delete it")
        for path in sorted(directory.glob("outbox-*.corrupt-*"))
        if not path.name.endswith("-wal")
    ]


def accounts(directory: Path) -> set[str]:
    """Return the keys of all accounts that the files know."""
    return {account for each in inspected(directory) for account in each.accounts}


def listed(directory: Path, selection: Selection) -> Iterator[Listed]:
    """Return the writes that are meant, file by file: those that wait, then the dead letters. Unreadable files have none."""
    now = time.time()
    for path in outbox_files(directory):
        try:
            found = [*_waiting(path), *_dead(path)]
        except (sqlite3.Error, OSError, NewerFileError):
            continue
        yield from (each for each in found if selection.fits(each.write, now))


def _waiting(path: Path) -> Iterator[Listed]:
    for row in waiting(path):
        state = WAITING if row.parked_at is None else PARKED
        yield Listed(path.name, state, row.write, row.provider)


def _dead(path: Path) -> Iterator[Listed]:
    for dead in dead_letters(path):
        yield Listed(path.name, DEAD, dead.write, dead.provider, dead.letter.cause)


def file_json(found: Inspection) -> dict[str, Json]:
    """Return a file as a JSON object."""
    return {
        "file": found.path.name,
        "is_owned": found.is_owned,
        "origin": dict(found.origin),
        "problem": found.problem,
        "accounts": [books_json(books) for books in found.accounts.values()],
    }


def books_json(books: AccountBooks) -> dict[str, Json]:
    """Return an account's books as a JSON object."""
    totals = books.totals
    return {
        "account": books.account,
        "provider": books.provider,
        "accepted": totals.accepted,
        "adopted": totals.adopted,
        "resent": totals.resent,
        "handed_over": totals.handed_over,
        "ended": {outcome.value: count for outcome, count in totals.ended.items()},
        "pending": totals.pending,
        "parked": totals.parked,
        "dead": books.dead,
        "size_bytes": totals.size_bytes,
        "oldest_accepted_at": books.oldest_accepted_at,
        "unaccounted": totals.unaccounted,
    }
