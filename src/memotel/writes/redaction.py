"""What a hook hands over, and the same as `redact` leaves it: nothing else is kept, sent or compared."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from memotel.config import Redact
from memotel.outcomes import Adapter
from memotel.policy.hygiene import redacted
from memotel.values import Json, Turn
from memotel.writes.history import History
from memotel.writes.notices import WriteNotices

REMEMBERED_LINES = 256
REMEMBERED_CHARS = 2_000
"""How many lines of history, each of at most so many characters, `redact` is remembered for: it need not run on every
line of a long history each turn. The words that are kept are always asked about anew."""


class Handed(NamedTuple):
    """A turn, who hands it over, and the history it stands in; `at` as `WritePath.accept` says."""

    turn: Turn
    adapter: Adapter
    history: History | None = None
    at: int | None = None


class Redaction:
    """Runs `redact` on words before anything is kept; None leaves everything as it is. Thread-safe if `redact` is."""

    def __init__(self, redact: Redact | None, notices: WriteNotices) -> None:
        self._redact = redact
        self._remembered = None if redact is None else lru_cache(REMEMBERED_LINES)(redact)
        self._notices = notices

    def clean(self, handed: Handed) -> Handed | None:
        """Return turn and history as `redact` leaves them; None where the turn must not be kept.

        That is where `redact` returns None, anything but a string, or raises.
        """
        if self._redact is None:
            return handed
        text = self._text(handed.turn.text)
        if text is None or not text.strip():
            return None
        lines = handed.history and [(who, self._line(said) or "") for who, said in handed.history]
        metadata = redacted_values(handed.turn.metadata, self._text)
        turn = replace(handed.turn, text=text, metadata=metadata)
        return handed._replace(turn=turn, history=lines)

    def _line(self, text: str) -> str | None:
        """Redact a line of history; nothing of it is kept, it is only compared."""
        if len(text) > REMEMBERED_CHARS:
            return self._text(text)
        return redacted(text, self._remembered, self._notices.redaction_failed)

    def _text(self, text: str) -> str | None:
        return redacted(text, self._redact, self._notices.redaction_failed)


def redacted_values(
    metadata: Mapping[str, Json], redact: Callable[[str], str | None]
) -> dict[str, Json]:
    """Return metadata with every text in it redacted; a text that must not leave takes its key along."""
    found = {name: _redacted_value(value, redact) for name, value in metadata.items()}
    return {
        name: value for name, value in found.items() if value is not None or metadata[name] is None
    }


def _redacted_value(value: Json, redact: Callable[[str], str | None]) -> Json:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_redacted_value(item, redact) for item in value]
    return redacted_values(value, redact) if isinstance(value, dict) else value
