"""The form of an outbox file: tables, version, and how a connection to one is made."""

import ctypes
import os
import re
import sqlite3
import time
import uuid
from pathlib import Path
from typing import Final

from memotel.outcomes import WriteOutcome

VERSION: Final = 1
"""`PRAGMA user_version` of the files that this code writes; it reads every one up to it."""

SUFFIX: Final = ".db"
_NAME: Final = re.compile(r"(outbox-[0-9]{20}-[0-9a-f]{8}\.db)(\.lock|-wal|-shm)?")
"""What our files are called; whatever else is in the directory is somebody else's."""

BUSY_TIMEOUT_S: Final = 1.0
"""How long a statement waits for another process, which only `memotel outbox` can be."""

CAME_IN: Final = ("accepted", "adopted", "resent")
WENT_OUT: Final = (*(outcome.value for outcome in WriteOutcome), "handed_over")
_NUMBERS: Final = ", ".join(f"{name} INTEGER NOT NULL DEFAULT 0" for name in CAME_IN + WENT_OUT)
_WRITE: Final = (
    "number INTEGER PRIMARY KEY, account TEXT NOT NULL, key TEXT NOT NULL, provider TEXT NOT NULL,"
    " accepted_at REAL NOT NULL, body BLOB NOT NULL"
)
_COUNT_IN: Final = """
CREATE TRIGGER count_in AFTER INSERT ON writes BEGIN
  INSERT INTO totals (account, provider, accepted, adopted, resent)
  VALUES (NEW.account, NEW.provider, NEW.came_in = 'accepted', NEW.came_in = 'adopted', NEW.came_in = 'resent')
  ON CONFLICT (account) DO UPDATE SET
    accepted = accepted + excluded.accepted, adopted = adopted + excluded.adopted, resent = resent + excluded.resent;
END
"""
"""What comes in is counted by the file itself: one statement keeps a write, and a statement is when others get the
interpreter's lock."""

_WAITS: Final = (
    "size_bytes INTEGER NOT NULL, expires_at REAL NOT NULL, parked_at REAL, came_in TEXT NOT NULL"
)
_UNIQUE: Final = "UNIQUE (account, key)"
_SCHEMA: Final = (
    f"CREATE TABLE writes ({_WRITE}, {_WAITS}, {_UNIQUE})",
    f"CREATE TABLE dead ({_WRITE}, died_at REAL NOT NULL, cause TEXT NOT NULL, {_UNIQUE})",
    f"CREATE TABLE totals (account TEXT PRIMARY KEY, provider TEXT NOT NULL, {_NUMBERS}) WITHOUT ROWID",
    _COUNT_IN,
    "CREATE TABLE origin (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)
_CORRUPT: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class NewerFileError(Exception):
    """The file was written by a newer memotel: this one leaves it alone."""


def origin() -> list[tuple[str, str]]:
    """Return who makes a file, for people to read."""
    made = {"pid": os.getpid(), "host": os.uname().nodename, "created_at": time.time()}
    return [(name, str(value)) for name, value in made.items()]


def is_corrupt(error: BaseException) -> bool:
    """Whether an error says that the file itself is damaged, rather than the disk full or a lock taken."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _CORRUPT


def create(path: Path) -> None:
    """Make an empty file that only its user can read. Raises `OSError`, also where there is one."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def connect(path: Path, *, is_full_sync: bool = False) -> sqlite3.Connection:
    """Open the file at `path`, in write-ahead mode; a commit survives the process, and the machine where `is_full_sync`.

    Raises `sqlite3.Error` where it cannot be opened or is damaged, `NewerFileError` where a newer memotel made it.
    """
    _refuse_emptied(path)
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_TIMEOUT_S,
    )
    try:
        _prepare(db, is_full_sync=is_full_sync)
    except BaseException:
        db.close()
        raise
    return db


def _refuse_emptied(path: Path) -> None:
    """Raise where a file is empty that has a log: SQLite would throw the log away, with all that is left."""
    log = parts_of(path)[1]
    if log.exists() and log.stat().st_size and not path.stat().st_size:
        raise _damage("the file is empty, and its log is not")


def _damage(what: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(what)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _prepare(db: sqlite3.Connection, *, is_full_sync: bool) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise NewerFileError(f"version {version}, this memotel knows {VERSION}")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"PRAGMA synchronous = {'FULL' if is_full_sync else 'NORMAL'}")
    db.execute("PRAGMA secure_delete = ON")
    db.execute("PRAGMA temp_store = MEMORY")
    if version == 0:
        _make_tables(db)


def _make_tables(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    if db.execute("PRAGMA user_version").fetchone() == (0,):
        for statement in _SCHEMA:
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")


def check(db: sqlite3.Connection) -> None:
    """Raise `sqlite3.DatabaseError` where the file is damaged; reads all of it."""
    (said,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        raise _damage("the file is damaged")


def new_name() -> str:
    """Return the name of a file that is made now."""
    return f"outbox-{time.time_ns():020d}-{uuid.uuid4().hex[:8]}{SUFFIX}"


def outbox_files(directory: Path) -> list[Path]:
    """Return the outbox files of a directory, oldest name first; an absent directory has none.

    A link is none, and a file of another name is somebody else's. Raises `OSError` where one may not look.
    """
    return [directory / name for name, is_there in _found(directory).items() if is_there]


def remains(directory: Path) -> list[Path]:
    """Return the outbox files that are gone but for a lock or a log: somebody ended while the file was removed."""
    return [directory / name for name, is_there in _found(directory).items() if not is_there]


def _found(directory: Path) -> dict[str, bool]:
    """Return the names of outbox files, in order, and whether more than a lock or a log is there."""
    names: dict[str, bool] = {}
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                found = _NAME.fullmatch(entry.name)
                if found is not None and (found[2] or entry.is_file(follow_symlinks=False)):
                    names[found[1]] = names.get(found[1], False) or not found[2]
    except FileNotFoundError:
        return {}
    return dict(sorted(names.items()))


def is_trusted(path: Path) -> bool:
    """Whether a file is of somebody whose writes may be sent from here: ourselves, or whoever has the directory."""
    try:
        user, owner = path.lstat().st_uid, path.parent.stat().st_uid
    except OSError:
        return False
    return user in (os.geteuid(), owner) or os.geteuid() == 0


def parts_of(path: Path) -> tuple[Path, Path, Path]:
    """Return the files that make up an outbox file beside its lock: itself, its log, its index."""
    return path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def set_aside(path: Path) -> Path:
    """Rename a damaged file to `<name>.corrupt-<time>`, its log with it; return its new place."""
    place = path.with_name(f"{path.name}.corrupt-{int(time.time())}")
    file, log, index = parts_of(path)
    file.rename(place)
    if log.exists():
        log.rename(log.with_name(f"{place.name}-wal"))
    index.unlink(missing_ok=True)
    return place


def unlink(path: Path) -> None:
    """Remove a file, its log and its index; what is not there is passed over."""
    for part in parts_of(path):
        part.unlink(missing_ok=True)


def is_gone(path: Path, place: tuple[int, int] | None) -> bool:
    """Whether a path does not lead to that file any more. A directory that may not be looked into has it still."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return (found.st_dev, found.st_ino) != place


def place_of(path: Path) -> tuple[int, int] | None:
    """Return what a path leads to: device and number of the file; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def never_collect(db: sqlite3.Connection) -> None:
    """Keep the interpreter from closing a connection by itself.

    SQLite forbids a forked child to touch what it inherited, and the interpreter would close it when the child ends.
    An owner closes on purpose.
    """
    api = getattr(ctypes, "pythonapi", None)
    if api is not None:
        api.Py_IncRef(ctypes.py_object(db))
