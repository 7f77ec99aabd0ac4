"""What a hook hands over, and the same as `redact` leaves it: nothing else is kept, sent or compared."""

from dataclasses import dataclass, replace
from functools import lru_cache

from memotel.config import Redact
from memotel.outcomes import Adapter
from memotel.values import Turn
from memotel.writes.history import History
from memotel.writes.notices import WriteNotices

REMEMBERED_TEXTS = 1024
"""How many texts `redact` is remembered for, so that a long history does not run it on every line each turn."""


@dataclass(frozen=True, slots=True)
class Handed:
    """A turn, who hands it over, and the history it stands in; `at` as `WritePath.accept` says."""

    turn: Turn
    adapter: Adapter
    history: History | None = None
    at: int | None = None


class Redaction:
    """Runs `redact` on words before anything is kept; None leaves everything as it is. Thread-safe if `redact` is."""

    def __init__(self, redact: Redact | None, notices: WriteNotices) -> None:
        self._redact = None if redact is None else lru_cache(REMEMBERED_TEXTS)(redact)
        self._notices = notices

    def clean(self, handed: Handed) -> Handed | None:
        """Return turn and history as `redact` leaves them; None where the turn must not be kept.

        That is where `redact` returns None, anything but a string, or raises.
        """
        if self._redact is None:
            return handed
        text = self._text(handed.turn.text)
        if text is None:
            return None
        lines = handed.history and [(who, self._text(said) or "") for who, said in handed.history]
        return replace(handed, turn=replace(handed.turn, text=text), history=lines)

    def _text(self, text: str) -> str | None:
        if self._redact is None:
            return text
        try:
            redacted = self._redact(text)
        except Exception as error:  # noqa: BLE001 # words that could not be redacted must not leave
            self._notices.redaction_failed(error)
            return None
        return redacted if isinstance(redacted, str) else None
