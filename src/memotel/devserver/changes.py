"""Tells waiting threads that a request has come or has ended."""

import threading
import time
from collections.abc import Callable


class Changes:
    """Counts what happens to requests, and wakes whoever waits for it. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0

    def tell(self) -> None:
        """Count one change: a request has come, or has ended."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def wait_until(self, claim: Callable[[], bool], timeout_s: float) -> bool:
        """Check a claim now and after each change; return whether it came true in time.

        The claim is checked without holding a lock, so it may ask the server's loop.
        """
        ends_at = time.monotonic() + timeout_s
        while True:
            seen = self._count
            if claim():
                return True
            with self._changed:
                left_s = ends_at - time.monotonic()
                if not self._changed.wait_for(lambda: self._count != seen, max(0.0, left_s)):  # noqa: B023  # called within this turn
                    return claim()
