"""Who is who among utterances: the key of a turn, and whether it was seen before. Thread-safe."""

import threading
from dataclasses import dataclass

from memotel.outcomes import DedupeKind, Speaker
from memotel.values import Turn
from memotel.writes.history import History, Line, nfc
from memotel.writes.keys import by_message_id, by_occurrence, idempotency_key
from memotel.writes.known import KnownKeys
from memotel.writes.occurrences import Occurrences


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one observer's turn is: its key, which repeat it is (if it is new), and why it is none to write, if so."""

    key: str
    occurrence: int
    kind: DedupeKind | None


class Sightings:
    """Recognises the utterances of one account."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._lock = threading.Lock()
        self._occurrences = Occurrences()
        self._known = KnownKeys()

    def see(self, turn: Turn, history: History | None) -> Sighting:
        """Return what `turn` is.

        A message id tells utterances apart where there is one; else a person's words are told apart by their
        occurrence in `history` (the visible lines, the turn last). An agent's identical reply is one per session.
        """
        line = (turn.speaker, nfc(turn.text))
        lines = _ending_with(line, history)
        with self._lock:
            if turn.message_id is not None and turn.speaker is not Speaker.AI:
                return self._by_id(turn, turn.message_id, line, lines)
            occurrence = self._occurrences.number(turn.scope, line, turn.observer, lines)
            key = self._key(turn, by_occurrence(occurrence))
            return Sighting(key, occurrence, self._known.see(key, turn.observer))

    def forget(self, key: str) -> None:
        """Let the same utterance be written again: its write failed for good."""
        with self._lock:
            self._known.forget(key)

    def _by_id(self, turn: Turn, message_id: str, line: Line, lines: History | None) -> Sighting:
        key = self._key(turn, by_message_id(message_id))
        kind = self._known.see(key, turn.observer)
        if kind is None:
            occurrence = self._occurrences.next_number(turn.scope, line, turn.observer, lines)
            return Sighting(key, occurrence, None)
        if lines is not None:
            self._occurrences.number(turn.scope, line, turn.observer, lines)
        return Sighting(key, 1, kind)

    def _key(self, turn: Turn, discriminator: str) -> str:
        return idempotency_key(
            self._account, turn.scope, turn.speaker, turn.text, discriminator=discriminator
        )


def _ending_with(line: Line, history: History | None) -> History | None:
    """Return the history with the turn last, also where the caller left it out."""
    if history is None:
        return None
    if history and history[-1][0] is line[0] and nfc(history[-1][1]) == line[1]:
        return history
    return [*history, line]
