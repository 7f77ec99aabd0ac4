"""Locks that many threads take for microseconds, without a queue that never ends, and who goes first.

A thread that sleeps inside a lock is handed it at its release, before it has the interpreter. Until it gets that, every
other thread that comes along has to sleep too, and each of them is woken for one step alone: a convoy, in which eight
threads wait a hundred times as long as they work. Here a thread waits outside until the lock looks free.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final

LOOKS: Final = 20
"""How often a thread looks outside; then it queues up, so that nobody waits for ever."""

REST_S: Final = 1e-4
"""A rest lets go of the interpreter, and lasts until a thread that slept for it is awake: a shorter one takes it back first."""


def calm(lock: threading.Lock) -> threading.Lock:
    """Return the lock, to be taken by `with`, as soon as it looks free or has been looked at often enough."""
    if lock.locked():
        for _ in range(LOOKS):
            time.sleep(REST_S)
            if not lock.locked():
                break
    return lock


class Callers:
    """Threads that are amid a step for which somebody waits, by `with`; the background gives way to them. Thread-safe.

    A thread that comes back from a system call is at the end of the queue for the interpreter, and the background keeps
    that for as long as it has something to compute, which may be a whole request. So it rests where a piece of work ends.

    Args:
        rest: lets go of the interpreter for so many seconds.
    """

    __slots__ = ("_inside", "_rest")

    def __init__(self, rest: Callable[[float], object] = time.sleep) -> None:
        self._rest = rest
        self._inside: list[None] = []  # a number would need two steps, and threads come between

    def __enter__(self) -> None:
        self._inside.append(None)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._inside.pop()

    def go_first(self) -> None:
        """Let go of the interpreter for a moment, if a caller is amid its step."""
        if self._inside:
            self._rest(REST_S)
