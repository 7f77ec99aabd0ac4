"""What the write path says in the log: each thing in one line, the frequent ones at most once a minute.

No line holds words, keys, users or sessions.
"""

import logging
from collections.abc import Callable

from memotel.outcomes import Provider

log = logging.getLogger("memotel.writes")


class Notices:
    """The log lines of one account's write path."""

    def __init__(self, provider: Provider, interval_s: float, clock: Callable[[], float]) -> None:
        self._provider = provider
        self._interval_s = interval_s
        self._clock = clock
        self._last_at: dict[str, float] = {}
        self._held_back: dict[str, int] = {}

    def full(self, max_writes: int, max_bytes: int) -> None:
        """Say that the outbox is full."""
        self._say(
            "full",
            "the outbox is full (%d writes or %d bytes): new writes are lost until some are delivered; "
            "see outbox_max_writes and outbox_max_bytes",
            max_writes,
            max_bytes,
        )

    def rejected(self, cause: str) -> None:
        """Say that a write became a dead letter."""
        self._say(
            "rejected", "a write was rejected for good (%s) and is kept as a dead letter", cause
        )

    def redaction_failed(self, error: Exception) -> None:
        """Say that redact raised; the error's text may hold words, so only its type is shown."""
        self._say("redact", "redact raised %s: the turn is not stored", type(error).__name__)

    def dropped(self, writes: int) -> None:
        """Say what a closing memory outbox could not deliver."""
        log.warning(
            "%s: %d accepted writes could not be delivered in time and are dropped, since the outbox is in memory; "
            "close() with a longer timeout, or exit_drain_timeout (MEMOTEL_EXIT_DRAIN_TIMEOUT) at exit, waits longer",
            self._provider,
            writes,
        )

    def _say(self, topic: str, message: str, *args: object) -> None:
        now = self._clock()
        if now - self._last_at.get(topic, float("-inf")) < self._interval_s:
            self._held_back[topic] = self._held_back.get(topic, 0) + 1
            return
        self._last_at[topic] = now
        more = self._held_back.pop(topic, 0)
        said = message % args
        log.warning("%s: %s (%d more since the last such line)", self._provider, said, more)
