"""The command line of `memotel outbox`."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from memotel.errors import ConfigurationError
from memotel.places import place_of
from memotel.writes.disk.inspection import Selection

UNITS_S = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhdw]?)")

_EPILOG = "Exit status: 0 done, 1 a file could not be read or is out of balance, 2 wrong usage."


@dataclass(frozen=True, slots=True)
class Options:
    """What is to be done.

    Attributes:
        action: `status`, `list`, `resend` or `purge`.
        directory: where the files are.
        selection: which writes are meant.
        account: the beginning of an account's key, or None.
        is_waiting: writes that wait are meant too.
        is_dead: dead letters are meant too.
        is_json: print data, not text.
        is_content_shown: show words.
    """

    action: str
    directory: Path
    selection: Selection
    account: str | None
    is_waiting: bool
    is_dead: bool
    is_json: bool
    is_content_shown: bool


def parse(argv: Sequence[str] | None) -> Options:
    """Read the command line; wrong usage exits with 2 and says why."""
    parser = _parser()
    given = parser.parse_args(argv)
    chosen = (given.user, given.session, given.account, given.older_than, given.key)
    if given.action == "purge" and not given.all and all(each is None for each in chosen):
        parser.error("purge needs to know which: --user, --session, --older-than, ... or --all")
    selection = Selection(
        user=given.user,
        session=given.session,
        older_than_s=given.older_than,
        keys=None if given.key is None else frozenset(given.key),
    )
    return Options(
        action=given.action,
        directory=_directory(parser, given.directory),
        selection=selection,
        account=given.account,
        is_waiting=not given.dead,
        is_dead=not given.waiting,
        is_json=given.json,
        is_content_shown=given.show_content,
    )


def _directory(parser: argparse.ArgumentParser, text: str) -> Path:
    """Return the directory that is meant; the outbox's own setting will do."""
    if not text.strip():
        _fail(parser, "DIRECTORY is empty: give the one that outbox= or MEMOTEL_OUTBOX names")
    path = Path(text)
    if "://" in text:
        try:
            place = place_of(text)
        except ConfigurationError as error:
            _fail(parser, str(error))
        path = path if place is None else place.directory
    if not path.is_dir():
        _fail(parser, f"{path} is no directory: give the one that outbox= or MEMOTEL_OUTBOX names")
    return path


def _fail(parser: argparse.ArgumentParser, reason: str) -> NoReturn:
    parser.exit(2, f"{parser.prog}: {reason}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="memotel outbox",
        description="Look into the outbox files of living and ended processes, put dead letters back, and remove writes.",
        epilog=_EPILOG,
    )
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="status|list|resend|purge"
    )
    for name, (summary, defaults) in _ACTIONS.items():
        action = actions.add_parser(name, help=summary, description=summary, epilog=_EPILOG)
        action.set_defaults(**defaults)
        action.add_argument("directory", metavar="DIRECTORY", help="as outbox= names it")
        action.add_argument("--json", action="store_true", help="print data instead of text")
        if name != "status":
            _add_selection(action)
        if name in ("list", "purge"):
            kind = action.add_mutually_exclusive_group()
            kind.add_argument("--waiting", action="store_true", help="writes that wait alone")
            kind.add_argument("--dead", action="store_true", help="dead letters alone")
        if name == "list":
            action.add_argument("--show-content", action="store_true", help="show the words too")
        if name == "purge":
            action.add_argument("--all", action="store_true", help="everything")
    return parser


_NOTHING = {
    "user": None,
    "session": None,
    "account": None,
    "older_than": None,
    "key": None,
    "waiting": False,
    "dead": False,
    "all": False,
    "show_content": False,
}
_ACTIONS = {
    "status": ("what each file holds, and whether its process lives", _NOTHING),
    "list": ("each write: whose, since when, and in which state; no words", _NOTHING),
    "resend": ("put dead letters back; a process that has their account delivers them", _NOTHING),
    "purge": ("remove writes and dead letters for good, and overwrite them on disk", _NOTHING),
}


def _add_selection(action: argparse.ArgumentParser) -> None:
    action.add_argument("--user", metavar="ID", help="of this user")
    action.add_argument("--session", metavar="ID", help="of this session")
    action.add_argument("--account", metavar="KEY", help="of the account whose key begins so")
    action.add_argument(
        "--older-than",
        type=duration_s,
        metavar="AGE",
        help="accepted longer ago: 90s, 30m, 12h, 7d",
    )
    action.add_argument("--key", action="append", metavar="KEY", help="this write (repeatable)")


def duration_s(text: str) -> float:
    """Return the seconds of an age such as `7d`. Raises `argparse.ArgumentTypeError`."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no age: a number and s, m, h, d or w")
    return float(found[1]) * UNITS_S[found[2] or "s"]
