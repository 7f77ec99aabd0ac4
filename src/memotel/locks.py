"""Locks that many threads take for microseconds, without a queue that never ends.

A thread that sleeps inside a lock is handed it at its release, before it has the interpreter. Until it gets that, every
other thread that comes along has to sleep too, and each of them is woken for one step alone: a convoy, in which eight
threads wait a hundred times as long as they work. Here a thread waits outside until the lock looks free.
"""

import threading
import time
from typing import Final

LOOKS: Final = 20
"""How often a thread looks outside; then it queues up, so that nobody waits for ever."""

REST_S: Final = 1e-6
"""The shortest rest that there is: it lets go of the interpreter, which whoever holds the lock may need."""


def calm(lock: threading.Lock) -> threading.Lock:
    """Return the lock, to be taken by `with`, as soon as it looks free or has been looked at often enough."""
    if lock.locked():
        for _ in range(LOOKS):
            time.sleep(REST_S)
            if not lock.locked():
                break
    return lock
