"""Waking the background loop a moment later, so cheaply that the caller does not feel it.

Waking a loop is a system call that hands the interpreter's lock to the loop's thread, and the caller gets it back when
that thread has done all it found to do, which may be a whole request. Here a thread of its own is woken by a lock, which
hands nothing over. It rests for a moment, so that what the caller does next goes first, then wakes the loop.
"""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

MOMENT_S = 0.05
"""How long a nudge rests before it wakes the loop."""


class Nudges:
    """Functions to be run a moment later. Any thread may add one; `run` is called on the nudges' own thread.

    The thread starts with the first nudge, and is a daemon: whatever must not be missed at the process's end is looked
    for at its end.
    """

    def __init__(self, run: Callable[[Callable[[], object]], object]) -> None:
        self._run = run
        self._waiting: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, function: Callable[[], object]) -> None:
        """Have `function` run in a moment."""
        self._waiting.put(function)
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="memotel-nudges", daemon=True
                )
                self._thread.start()

    def _work(self) -> None:
        while True:
            function = self._waiting.get()
            time.sleep(MOMENT_S)
            try:
                self._run(function)
            except RuntimeError:
                pass  # the loop is closed: the process ends, or a test of it
            del function  # whose account may be closed by the time that another nudge comes
