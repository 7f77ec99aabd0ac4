"""No fork while SQLite is at work: a child would inherit SQLite's own locks as they stand, and wait for them for ever.

Whatever calls SQLite holds `opening` or the lock of its file meanwhile; a fork takes them all first, and lets them go on
both sides.
"""

import os
import threading
from weakref import WeakSet

MOST_S = 5.0
"""How long a fork waits for all that is under way, at most: then it goes on as it would without us."""

opening = threading.RLock()
"""Held while a file is opened, which needs no lock of its own before others know it."""


class FileGate:
    """The lock of one open file, known to forks while it lives."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        _gates.add(self)


_gates: "WeakSet[FileGate]" = WeakSet()
_taken: list[threading.Lock] = []


def _shut() -> None:
    if not opening.acquire(timeout=MOST_S):
        return
    locks = [gate.lock for gate in list(_gates)]
    _taken.extend(lock for lock in locks if lock.acquire(timeout=MOST_S))


def _open() -> None:
    for lock in _taken:
        lock.release()
    _taken.clear()
    try:
        opening.release()
    except RuntimeError:
        pass  # it could not be had in time


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_shut, after_in_parent=_open, after_in_child=_open)
