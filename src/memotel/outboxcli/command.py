"""`memotel outbox`: does what is asked, and says what was done."""

import json
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from memotel.outboxcli.contents import (
    DEAD,
    Listed,
    Problem,
    accounts,
    file_json,
    inspected,
    listed,
    problems,
    set_aside,
)
from memotel.outboxcli.options import Options, parse
from memotel.outboxcli.tables import age, safe, table
from memotel.values import Json
from memotel.writes.disk.inspection import Inspection, purge, resend

EXIT_FINE = 0
EXIT_WRONG = 1
EXIT_USAGE = 2
IN_USE = "somebody reads it: what was removed may lie in its log still; do it again"
SHOWN_OF_KEY = 12
"""Characters of an account's key that a table shows; `--account` takes them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Do one action; return 0, or 1 where something is wrong with a file. Wrong usage exits with 2."""
    asked = parse(argv)
    if asked.account is not None:
        fitting = [key for key in accounts(asked.directory) if key.startswith(asked.account)]
        if len(fitting) != 1:
            known = "no account" if not fitting else f"{len(fitting)} accounts"
            return _failed(f"{known} in {asked.directory} begin with {asked.account}", EXIT_USAGE)
        asked = replace(asked, selection=replace(asked.selection, account=fitting[0]))
    try:
        return _ACTIONS[asked.action](asked)
    except (OSError, sqlite3.Error) as error:
        return _failed(f"{asked.directory}: {error}", EXIT_WRONG)


def _failed(reason: str, status: int) -> int:
    sys.stderr.write(f"memotel outbox: {reason}\n")
    return status


def _status(asked: Options) -> int:
    files = inspected(asked.directory)
    bad = [*problems(files), *set_aside(asked.directory)]
    bad += [
        Problem(each.path.name, f"the books of {key[:SHOWN_OF_KEY]} are out of balance")
        for each in files
        for key, books in each.accounts.items()
        if books.totals.unaccounted
    ]
    if asked.is_json:
        return _as_json({"files": [file_json(each) for each in files]}, bad)
    rows = [row for each in files for row in _status_rows(each)]
    head = ("file", "process", "service", "account", "waiting", "parked", "dead", "oldest")
    return _as_text(table(head, rows) if rows else f"Nothing is kept in {asked.directory}.", bad)


def _status_rows(found: Inspection) -> list[list[str]]:
    """Return a line for each account of a file; one without any has one line."""
    pid = found.origin.get("pid", "?")
    process = f"{pid} lives" if found.is_owned else f"{pid} ended"
    rows = []
    for books in found.accounts.values():
        waits = books.totals.pending - books.totals.parked
        oldest = books.oldest_accepted_at
        rows.append(
            [
                found.path.name,
                process,
                books.provider,
                books.account[:SHOWN_OF_KEY],
                f"{waits:,}",
                f"{books.totals.parked:,}",
                f"{books.dead:,}",
                "" if oldest is None else age(time.time() - oldest),
            ]
        )
    return rows or [[found.path.name, process, "", "", "0", "0", "0", ""]]


def _list(asked: Options) -> int:
    bad = _problems(asked)
    found = _meant(asked)
    if asked.is_json:
        is_shown = asked.is_content_shown
        return _as_json({"writes": [w.as_json(is_content_shown=is_shown) for w in found]}, bad)
    if not found:
        return _as_text("No write fits.", bad)
    head = ["state", "age", "user", "session", "speaker", "chars", "service", "account", "key"]
    head += ["why"]
    head += ["text"] if asked.is_content_shown else []
    rows = [_list_row(each, is_content_shown=asked.is_content_shown) for each in found]
    return _as_text(table(head, rows), bad)


def _meant(asked: Options) -> list[Listed]:
    """Return the writes that are meant."""
    return [
        each
        for each in listed(asked.directory, asked.selection)
        if (asked.is_dead if each.state == DEAD else asked.is_waiting)
    ]


def _list_row(each: Listed, *, is_content_shown: bool) -> list[str]:
    write, turn = each.write, each.write.turn
    row = [
        each.state,
        age(time.time() - write.accepted_at),
        safe(turn.scope.user_id),
        safe(turn.scope.session_id),
        turn.speaker.value,
        f"{len(turn.text):,}",
        each.provider.value,
        write.account[:SHOWN_OF_KEY],
        write.key,
        safe(each.cause),
    ]
    return [*row, safe(turn.text)] if is_content_shown else row


def _resend(asked: Options) -> int:
    bad = _problems(asked)
    sent = resend(asked.directory, asked.selection)
    if asked.is_json:
        return _as_json({"resent": sent}, bad)
    text = f"{sent:,} dead letters were put back"
    return _as_text(
        f"{text}; a process that has a client of their account delivers them."
        if sent
        else f"{text}.",
        bad,
    )


def _purge(asked: Options) -> int:
    gone = purge(
        asked.directory, asked.selection, is_waiting=asked.is_waiting, is_dead=asked.is_dead
    )
    left = Counter(each.file for each in _meant(asked))
    bad = _problems(asked)
    bad += [Problem(file, f"{count:,} that fit are there still") for file, count in left.items()]
    bad += [Problem(file, IN_USE) for file in sorted(gone.in_use)]
    if asked.is_json:
        return _as_json({"waiting": gone.waiting, "dead": gone.dead}, bad)
    text = f"{gone.waiting:,} waiting writes and {gone.dead:,} dead letters were removed."
    return _as_text(text, bad)


_ACTIONS = {"status": _status, "list": _list, "resend": _resend, "purge": _purge}


def _problems(asked: Options) -> list[Problem]:
    """Return the files that an action cannot reach."""
    return [*problems(inspected(asked.directory)), *set_aside(asked.directory)]


def _as_json(fields: dict[str, Json], bad: list[Problem]) -> int:
    status = EXIT_WRONG if bad else EXIT_FINE
    shown: list[Json] = [{"file": each.file, "reason": each.reason} for each in bad]
    content = {**fields, "problems": shown, "exit_status": status}
    sys.stdout.write(json.dumps(content, indent=2) + "\n")
    return status


def _as_text(text: str, bad: list[Problem]) -> int:
    sys.stdout.write(text + "\n")
    for each in bad:
        sys.stderr.write(f"memotel outbox: {each.file}: {safe(each.reason)}\n")
    return EXIT_WRONG if bad else EXIT_FINE
