"""Who owns an outbox file: a lock beside it, held for the owner's life and freed by the kernel when that ends."""

import os
import sys
from pathlib import Path

from memotel import runtime

if sys.platform != "win32":
    import fcntl

_held: set[int] = set()
"""Descriptors of the locks of this process. A forked child inherits them, and would keep a lock alive for ever."""


def lock_path(path: Path) -> Path:
    """Return where the lock of an outbox file lies."""
    return path.with_name(f"{path.name}.lock")


class FileLock:
    """An exclusive lock, from `take` to `release` or `remove`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        _held.add(descriptor)

    @classmethod
    def take(cls, path: Path, *, is_new: bool = False) -> "FileLock | None":
        """Lock the outbox file at `path`; return None where another holds it, or has just removed it.

        Where the lock is new it must not exist yet. Raises `OSError` where it cannot be opened.
        """
        place = lock_path(path)
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | (os.O_EXCL if is_new else 0)
        descriptor = os.open(place, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        if not _is_same_file(descriptor, place):
            os.close(descriptor)
            return None
        return cls(place, descriptor)

    @staticmethod
    def is_held(path: Path) -> bool:
        """Whether a process lives that owns the outbox file at `path`."""
        try:
            descriptor = os.open(lock_path(path), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def release(self) -> None:
        """Let others have the file. Idempotent."""
        if self._descriptor in _held:
            _held.discard(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def remove(self) -> None:
        """Remove the lock and release it: the file is gone. Whoever waits for it finds that the lock is no more."""
        self._path.unlink(missing_ok=True)
        self.release()


def _is_same_file(descriptor: int, path: Path) -> bool:
    """Whether `path` still leads to the open file: an owner may have removed it in between."""
    mine = os.fstat(descriptor)
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)


def _forget_inherited() -> None:
    """Close what a forked child inherited. Closing leaves the parent's lock alone; unlocking would not."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


runtime.on_fork(_forget_inherited)
