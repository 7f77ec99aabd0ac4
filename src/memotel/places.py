"""Where an outbox lies: in memory, or in a directory that can hold files on which a lock and a log work."""

import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from memotel.errors import ConfigurationError
from memotel.wording import kind_of

MEMORY: Final = "memory"
ALLOWED: Final = "'memory' or 'sqlite:///absolute/path/of/a/directory'"
MOUNTS = Path("/proc/self/mountinfo")
"""What is mounted where, on Linux; see proc(5)."""

NETWORK_TYPES: Final = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs"),
        *("nfs", "nfs4", "ocfs2", "orangefs", "pvfs2", "smb3", "smbfs", "wekafs", "fuse.blobfuse2", "fuse.ceph"),
        *("fuse.davfs2", "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys", "fuse.juicefs", "fuse.mfs"),
        *("fuse.mount-s3", "fuse.rclone", "fuse.s3fs", "fuse.s3ql", "fuse.sshfs"),
    }
)  # fmt: skip
"""File systems that several machines share: SQLite's log needs memory that all its users share, which they have not."""

_SYNCHRONOUS: Final = {"normal": False, "full": True}
_OCTAL: Final = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Place:
    """A directory for outbox files.

    Attributes:
        directory: an absolute path; it may not exist yet.
        is_full_sync: whether each accepted write reaches the disk at once, so that it survives a power cut too.
    """

    directory: Path
    is_full_sync: bool = False


def place_of(url: str) -> Place | None:
    """Return the directory that an outbox URL names; None for memory.

    Raises:
        ConfigurationError: it is neither, or nothing can be kept there: the file system is a network's, or the directory
            cannot be made or written to.
    """
    if url == MEMORY:
        return None
    place = _parsed(url)
    if sys.platform == "win32":
        raise ConfigurationError("outbox must be 'memory' on Windows, which has no file locks")
    if importlib.util.find_spec("_sqlite3") is None:
        raise ConfigurationError("outbox must be 'memory' where Python was built without sqlite3")
    kind = network_type(place.directory)
    if kind is not None:
        raise ConfigurationError(
            f"outbox must lie on a local file system, not on {kind}: {place.directory}"
        )
    if not _is_writable(place.directory):
        raise ConfigurationError(
            f"outbox must be a directory that can be made and written to, not {place.directory}"
        )
    return place


def _parsed(url: object) -> Place:
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme != "sqlite":
        raise ConfigurationError(f"outbox must be {ALLOWED}, not {_shown(url)}")
    path = unquote(parts.path)
    is_directory = not parts.netloc and not parts.fragment and path.strip("/") and "\0" not in path
    if not is_directory or not path.startswith("/"):
        raise ConfigurationError(f"outbox must be {ALLOWED}, not {_shown(url)}")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    mode = options.pop("synchronous", "normal").lower()
    if options or mode not in _SYNCHRONOUS:
        raise ConfigurationError(
            "outbox takes one option, ?synchronous=normal or ?synchronous=full"
        )
    return Place(Path(os.path.normpath("/" + path.lstrip("/"))), _SYNCHRONOUS[mode])


def _shown(url: object) -> str:
    """Show what was given; a URL of another kind may hold a password."""
    if not isinstance(url, str):
        return kind_of(url)
    scheme, separator, _ = url.partition("://")
    return repr(f"{scheme}://...") if separator and scheme != "sqlite" else repr(url)


def network_type(path: Path, mounts: Path | None = None) -> str | None:
    """Return the type of the network file system that `path` lies on, or will; None where it is local or unknown."""
    try:
        text = (mounts or MOUNTS).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    real = Path(os.path.realpath(path))
    best, found = -1, ""
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        point = Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4]))
        if real.is_relative_to(point) and len(point.parts) >= best:
            best, found = len(point.parts), after.split()[0]
    return found if found in NETWORK_TYPES else None


def _is_writable(directory: Path) -> bool:
    """Whether the directory can be written to, or made where it is missing."""
    nearest = directory
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
