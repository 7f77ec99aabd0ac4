"""Who owns an outbox file: a lock beside it, held for the owner's life and freed by the kernel when that ends."""

import errno
import os
import sys
from pathlib import Path
from typing import Final

from memotel import runtime
from memotel.writes.disk.forkgate import opening
from memotel.writes.disk.schema import new_name

if sys.platform != "win32":
    import fcntl

_PLAIN: Final = os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A lock is a file of its own: no link is followed to somebody else's, and no pipe is waited for."""

MOST_NAMES: Final = 10
"""How many names are tried: whoever tidies up may take a lock just as it is made."""

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

        Where the lock is new it must not exist yet. Raises `OSError` where it cannot be opened, or the file system has
        no locks.
        """
        place = lock_path(path)
        flags = os.O_CREAT | os.O_RDWR | _PLAIN | (os.O_EXCL if is_new else 0)
        with opening:  # a child that is forked here would not know what it has inherited
            descriptor = os.open(place, flags, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_same_file(descriptor, place):
                    return cls(place, descriptor)
            except BlockingIOError:
                pass
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
            return None

    @classmethod
    def take_new(cls, directory: Path) -> "tuple[Path, FileLock]":
        """Return a name for an outbox file that nobody has yet, and its lock. Raises `OSError`."""
        for _ in range(MOST_NAMES):
            path = directory / new_name()
            lock = cls.take(path, is_new=True)
            if lock is not None:
                return path, lock
        raise BlockingIOError(errno.EAGAIN, "each new lock was taken away", str(directory))

    @classmethod
    def retake(cls, path: Path) -> "FileLock | None":
        """Lock a file of ours again whose lock somebody has removed; None where another has it by now."""
        try:
            return cls.take(path, is_new=True)
        except OSError:
            return None

    def is_in_place(self) -> bool:
        """Whether the lock still lies where others look for it. It is touched, so that nobody takes it for forgotten."""
        try:
            if not _is_same_file(self._descriptor, self._path):
                return False
            os.utime(self._descriptor)
        except OSError:
            pass  # one may not look there now, nor may others
        return True

    @staticmethod
    def is_held(path: Path) -> bool:
        """Whether a process lives that owns the outbox file at `path`."""
        try:
            descriptor = os.open(lock_path(path), os.O_RDONLY | _PLAIN)
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
        try:
            self._path.unlink(missing_ok=True)
        finally:
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
