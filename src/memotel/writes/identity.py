"""Who is who among utterances: the key of a turn, and whether it was seen before. Thread-safe."""

import threading
from typing import NamedTuple

from memotel.locks import calm
from memotel.outcomes import DedupeKind, Speaker
from memotel.values import Turn
from memotel.writes.history import History, View, is_same
from memotel.writes.keys import by_message_id, by_occurrence, idempotency_key
from memotel.writes.known import KnownKeys
from memotel.writes.occurrences import Occurrences


class Sighting(NamedTuple):
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

    def see(self, turn: Turn, history: History | None, at: int | None = None) -> Sighting:
        """Return what `turn` is.

        A message id tells utterances apart where there is one; else a person's words are told apart by their
        occurrence in `history`. An agent's identical reply is one per session.

        Args:
            turn: the words and who saw them.
            history: the lines that can be seen; None where there are none to see.
            at: which of them is the turn, where `history` is all there is to see by now; None: it ends with the turn,
                and more may have been said since.
        """
        view = None if history is None else _view(turn, history, at)
        with calm(self._lock):
            if turn.message_id is not None and turn.speaker is not Speaker.AI:
                return self._by_id(turn, turn.message_id, view)
            occurrence = self._occurrences.number(turn, view)
            key = self._key(turn, by_occurrence(occurrence))
            return Sighting(key, occurrence, self._known.see(key, turn.observer))

    def note(self, key: str, observer: str) -> None:
        """Recognise an utterance from now on that another process has accepted."""
        with calm(self._lock):
            self._known.see(key, observer)

    def forget(self, key: str) -> None:
        """Let the same utterance be written again: its write failed for good."""
        with calm(self._lock):
            self._known.forget(key)

    def _by_id(self, turn: Turn, message_id: str, view: View | None) -> Sighting:
        key = self._key(turn, by_message_id(message_id))
        kind = self._known.see(key, turn.observer)
        if kind is None:
            return Sighting(key, self._occurrences.next_number(turn, view), None)
        if view is not None:
            self._occurrences.number(turn, view)
        return Sighting(key, 1, kind)

    def _key(self, turn: Turn, discriminator: str) -> str:
        return idempotency_key(
            self._account, turn.scope, turn.speaker, turn.text, discriminator=discriminator
        )


def _view(turn: Turn, history: History, at: int | None) -> View:
    """Return the view in which the turn stands at its place, also where the caller left it out at the end."""
    line = (turn.speaker, turn.text)
    if at is not None and 0 <= at < len(history) and is_same(history[at], line):
        return View(turn.observer, history, at, is_complete=True)
    lines = history if history and is_same(history[-1], line) else [*history, line]
    return View(turn.observer, lines, len(lines) - 1, is_complete=at is not None)
