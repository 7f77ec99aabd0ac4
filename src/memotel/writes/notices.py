"""What the write path says in the log; see `memotel.notices` for how often."""

import errno
import os
import sqlite3
from pathlib import Path

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

    def dropped(self, writes: int, *, is_durable: bool) -> None:
        """Say what a closing outbox could neither deliver nor keep."""
        why = (
            "since the disk of the outbox fails"
            if is_durable
            else 'since the outbox is in memory: outbox="sqlite:///a/directory" (MEMOTEL_OUTBOX) keeps them for the next '
            "process"
        )
        self._notices.say(
            Event.WRITES_DROPPED,
            f"{writes} accepted writes could not be delivered in time and are dropped, {why}; close() with a longer "
            "timeout, or exit_drain_timeout (MEMOTEL_EXIT_DRAIN_TIMEOUT) at exit, waits longer",
        )

    def degraded(self, directory: Path, error: OSError | sqlite3.Error) -> None:
        """Say that the disk fails."""
        self._notices.enter(
            Event.OUTBOX_DEGRADED,
            f"the outbox in {directory} cannot be written to ({_reason(error)}): accepted writes wait in memory, and are "
            "lost with the process, until the disk works again; it is tried anew every adopt_interval_s",
        )

    def restored(self) -> None:
        """Say that the disk works again."""
        self._notices.enter(
            Event.OUTBOX_RESTORED, "the outbox on disk works again, and has what waited in memory"
        )

    def damaged(self, name: str) -> None:
        """Say that a file was set aside."""
        self._notices.say(
            Event.OUTBOX_DAMAGED,
            f"the outbox file {name} is damaged or gone; what is left of it was set aside as {name}.corrupt-<time>, and a "
            "fresh file is used",
        )

    def newer(self, name: str) -> None:
        """Say that a file of a newer memotel is left alone."""
        self._notices.say(
            Event.OUTBOX_NEWER,
            f"the outbox file {name} was made by a newer memotel and is left alone; a process of that version adopts it",
        )

    def unreadable(self, writes: int) -> None:
        """Say that writes could not be read."""
        self._notices.say(
            Event.WRITES_DROPPED,
            f"{writes} writes that another process left behind could not be read and are dropped",
        )

    def adopted(self, writes: int) -> None:
        """Say that writes were taken over."""
        self._notices.say(
            Event.OUTBOX_ADOPTED,
            f"{writes} writes that another process left behind are delivered by this one",
        )


def _reason(error: OSError | sqlite3.Error) -> str:
    """Say what failed, in words that hold nothing of the user's."""
    if isinstance(error, OSError):
        return os.strerror(error.errno or errno.EIO)
    return getattr(error, "sqlite_errorname", "") or type(error).__name__
