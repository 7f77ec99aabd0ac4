"""What the write path says in the log; see `memotel.notices` for how often."""

from memotel.notices import Event, Notices


class WriteNotices:
    """The log lines of one account's write path."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices

    def full(self, max_writes: int, max_bytes: int) -> None:
        """Say that the outbox is full."""
        self._notices.say(
            Event.OUTBOX_FULL,
            f"the outbox is full ({max_writes} writes or {max_bytes} bytes): new writes are lost until some are "
            "delivered; see outbox_max_writes and outbox_max_bytes",
        )

    def rejected(self, cause: str) -> None:
        """Say that a write became a dead letter."""
        self._notices.say(
            Event.WRITES_DEAD_LETTER,
            f"a write was rejected for good ({cause}) and is kept as a dead letter",
        )

    def redaction_failed(self, error: Exception) -> None:
        """Say that redact raised; the error's text may hold words, so only its type is shown."""
        self._notices.say(
            Event.WRITES_REDACT_FAILED,
            f"redact raised {type(error).__name__}: the turn is not stored",
        )

    def dropped(self, writes: int) -> None:
        """Say what a closing memory outbox could not deliver."""
        self._notices.say(
            Event.WRITES_DROPPED,
            f"{writes} accepted writes could not be delivered in time and are dropped, since the outbox is in memory; "
            "close() with a longer timeout, or exit_drain_timeout (MEMOTEL_EXIT_DRAIN_TIMEOUT) at exit, waits longer",
        )
