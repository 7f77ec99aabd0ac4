"""Writes that the service will never take: kept for a while, so that somebody can look at them."""

import threading
from collections import deque
from dataclasses import dataclass

from memotel.values import Write


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One rejected write.

    Attributes:
        write: the write, words included.
        cause: why in a few words: a status and code, or `poison`.
        died_at: wall-clock seconds.
    """

    write: Write
    cause: str
    died_at: float


class DeadLetters:
    """The newest `most` dead letters in memory, none older than `max_age_s`. Thread-safe."""

    def __init__(self, most: int = 10_000, max_age_s: float = 30 * 86_400.0) -> None:
        self._letters: deque[DeadLetter] = deque(maxlen=most)
        self._max_age_s = max_age_s
        self._lock = threading.Lock()

    def add(self, letter: DeadLetter) -> None:
        """Keep a letter; the oldest goes where there are too many."""
        with self._lock:
            self._letters.append(letter)
            self._drop_old(letter.died_at)

    def letters(self, now: float) -> list[DeadLetter]:
        """Return what is kept at wall-clock time `now`, oldest first."""
        with self._lock:
            self._drop_old(now)
            return list(self._letters)

    def take(self) -> list[DeadLetter]:
        """Return all, oldest first, and keep none."""
        with self._lock:
            letters = list(self._letters)
            self._letters.clear()
            return letters

    def __len__(self) -> int:
        return len(self._letters)

    def _drop_old(self, now: float) -> None:
        while self._letters and now - self._letters[0].died_at > self._max_age_s:
            self._letters.popleft()
