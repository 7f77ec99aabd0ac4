"""Where a visible history stands in a conversation that was seen before. Pure.

A hook sees a history: lines of (speaker, text), the turn last. It may be whole or trimmed from the front, and two hooks
may see the same conversation through windows of different width. A run is one conversation as it has grown so far;
`Run.place` says how many of a history's lines are new to it, or that the history goes back to an earlier point of it.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from memotel.outcomes import Speaker

Line = tuple[Speaker, str]
History = Sequence[Line]

REMEMBERED_LINES = 8
"""How many lines at the beginning and at the end of a run are kept, as hashes, to recognise it by."""


def nfc(text: str) -> str:
    """Return the text in the form in which it counts."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def line_hash(line: Line) -> int:
    """Return what a line is recognised by, in this process."""
    return hash((line[0], nfc(line[1])))


def times_said(history: History, line: Line) -> int:
    """Return how often a line stands in a history."""
    text = line[1]
    if text.isascii():
        return history.count(line)
    return sum(1 for speaker, said in history if speaker is line[0] and nfc(said) == text)


@dataclass(frozen=True, slots=True)
class Place:
    """How a history fits a run.

    Attributes:
        overlap: how many remembered lines agree: the strength of the fit.
        new_lines: how many lines at the end are new to the run.
        is_whole: whether the history begins where the run began.
        is_sure: whether it carries on exactly where the run, or this observer's window on it, ended.
        is_return: whether it goes back to an earlier point: resumed, regenerated or edited.
    """

    overlap: int
    new_lines: int
    is_whole: bool
    is_sure: bool = False
    is_return: bool = False


@dataclass(slots=True)
class View:
    """What one observer has seen of a run: up to which line, and whether through a window."""

    length: int
    is_trimmed: bool = False


@dataclass(slots=True, eq=False)
class Run:
    """One conversation as it has grown: its length in lines, and the hashes of its first and last ones."""

    number: int
    length: int = 0
    head: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()
    views: dict[str, View] = field(default_factory=dict)

    def place(self, history: History, observer: str) -> Place | None:
        """Return how `history`, as `observer` sees it, fits this run; None where it is another conversation."""
        onward = self._onward(history, observer)
        if len(history) < 2 or (onward is not None and onward.is_sure):
            return onward
        back = self._back(history)
        if onward is None or (back is not None and back.overlap > onward.overlap):
            return back
        return onward

    def grow(self, history: History, observer: str, place: Place) -> None:
        """Take in what `history` adds, as `observer` sees it."""
        self.length = len(history) if place.is_whole else self.length + place.new_lines
        if place.is_return:
            self.tail = ()
        fresh = history[-REMEMBERED_LINES:] if place.is_return else history[-place.new_lines :]
        if place.new_lines or place.is_return:
            self.tail = (*self.tail, *map(line_hash, fresh))[-REMEMBERED_LINES:]
        if len(self.head) < REMEMBERED_LINES and place.is_whole:
            self.head = tuple(map(line_hash, history[:REMEMBERED_LINES]))
        self.views[observer] = View(self.length, is_trimmed=len(history) < self.length)

    def _onward(self, history: History, observer: str) -> Place | None:
        """Find the end of this run in `history`, with all that both remember before it."""
        if self._is_new_opening(history, observer):
            return None
        last = self.tail[-1]
        for end in range(len(history), 0, -1):
            if line_hash(history[end - 1]) == last and (overlap := self._agreement(history, end)):
                return Place(
                    overlap,
                    new_lines=len(history) - end,
                    is_whole=end >= self.length,
                    is_sure=end == self.length or self._is_window(observer),
                )
        return None

    def _is_window(self, observer: str) -> bool:
        view = self.views.get(observer)
        return view is not None and view.is_trimmed

    def _agreement(self, history: History, end: int) -> int:
        """Return how many lines before `end` agree with the tail; 0 where any disagrees."""
        lines = min(len(self.tail), end)
        theirs = history[end - lines : end]
        agrees = all(
            line_hash(line) == known for line, known in zip(theirs, self.tail[-lines:], strict=True)
        )
        return lines if agrees else 0

    def _is_new_opening(self, history: History, observer: str) -> bool:
        """A lone line that ends this run opens a new one, for an observer who has seen that end already."""
        if len(history) > 1 or self.length == 1:
            return False
        view = self.views.get(observer)
        return view is not None and view.length >= self.length

    def _back(self, history: History) -> Place | None:
        """Compare beginnings: a history that begins as this run did goes back to a point of it."""
        overlap = 0
        for line, known in zip(history, self.head, strict=False):
            if line_hash(line) != known:
                break
            overlap += 1
        return Place(overlap, 0, is_whole=True, is_return=True) if overlap else None
