"""Where a visible history stands in a conversation that was seen before. Pure.

A hook sees a history: lines of (speaker, text). It may be whole or trimmed from the front, and two hooks may see the same
conversation through windows of different width. A run is one conversation as it has grown so far; `Run.place` says how
many of a history's lines are new to it, or that the history goes back to an earlier point of it.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from memotel.outcomes import Speaker

Line = tuple[Speaker, str]
History = Sequence[Line]

REMEMBERED_LINES = 6
"""How many lines at the beginning and at the end of a run are kept, as hashes, to recognise it by."""


def nfc(text: str) -> str:
    """Return the text in the form in which it counts."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def line_hash(line: Line) -> int:
    """Return what a line is recognised by, in this process."""
    return hash(line) if line[1].isascii() else hash((line[0], nfc(line[1])))


def times_said(history: History, line: Line) -> int:
    """Return how often a line stands in a history."""
    if line[1].isascii():
        return history.count(line)
    text = nfc(line[1])
    return sum(1 for speaker, said in history if speaker is line[0] and nfc(said) == text)


@dataclass(frozen=True)
class View:
    """What an observer shows: the lines that it can see, and whether that is all there is.

    Attributes:
        observer: who sees them.
        lines: the visible lines, oldest first.
        at: which of them the turn is.
        is_complete: whether nothing that was said by now stands after `lines`. An observer that catches up line by line
            shows a lone first line in the middle of a conversation; one that is complete shows one only at its start.
    """

    observer: str
    lines: History
    at: int
    is_complete: bool

    @cached_property
    def hashes(self) -> tuple[int, ...]:
        """What each line is recognised by."""
        return tuple(map(line_hash, self.lines))

    @property
    def is_lone(self) -> bool:
        """Whether one line is all that is seen."""
        return len(self.lines) == 1

    @property
    def is_opening(self) -> bool:
        """Whether one line is all that was said: of a run that exists it can only be the first and last."""
        return self.is_complete and self.is_lone


@dataclass(frozen=True, slots=True)
class Place:
    """How a view fits a run.

    Attributes:
        overlap: how many remembered lines agree: the strength of the fit.
        new_lines: how many lines at the end are new to the run.
        is_whole: whether the view begins where the run began.
        is_sure: whether it carries on exactly where the run, or this observer's window on it, ended.
        is_return: whether it goes back to an earlier point: resumed, regenerated or edited.
    """

    overlap: int
    new_lines: int
    is_whole: bool
    is_sure: bool = False
    is_return: bool = False


@dataclass(slots=True)
class Seen:
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
    seen: dict[str, Seen] = field(default_factory=dict)

    def carried_on(self, view: View) -> Place | None:
        """Return the place of a view that begins where this run did and goes on where it ended; else None.

        This is what nearly every view is, so it costs a few comparisons, however long the history.
        """
        end, many = self.length, len(self.tail)
        if end > len(view.lines):
            return None
        for index in range(1, many + 1):
            if line_hash(view.lines[end - index]) != self.tail[-index]:
                return None
        return Place(many, len(view.lines) - end, is_whole=True, is_sure=True)

    def place(self, view: View) -> Place | None:
        """Return how a view that does not carry it on fits this run; None where it is of another conversation.

        A lone line fits only for an observer that catches up, or sees through the narrowest window; to one that has
        seen as much before, it opens a conversation of its own.
        """
        if view.is_lone and not self._is_behind(view):
            return None
        onward = self._onward(view)
        if onward is not None and onward.is_sure:
            return onward
        back = self._back(view)
        if onward is None or (back is not None and back.overlap > onward.overlap):
            return back
        return onward

    def grow(self, view: View, place: Place) -> None:
        """Take in what a view adds."""
        lines = view.lines
        if place.is_return and self._is_behind(view):
            self.seen[view.observer] = Seen(len(lines))
            return
        self.length = len(lines) if place.is_whole else self.length + place.new_lines
        if place.is_return:
            self.tail = tuple(map(line_hash, lines[-REMEMBERED_LINES:]))
        elif place.new_lines:
            fresh = lines[-min(place.new_lines, REMEMBERED_LINES) :]
            self.tail = (*self.tail, *map(line_hash, fresh))[-REMEMBERED_LINES:]
        if len(self.head) < REMEMBERED_LINES and place.is_whole:
            self.head = tuple(map(line_hash, lines[:REMEMBERED_LINES]))
        self.seen[view.observer] = Seen(self.length, is_trimmed=len(lines) < self.length)

    def _onward(self, view: View) -> Place | None:
        """Find the end of this run in the view, with all that both remember before it."""
        hashes, last = view.hashes, self.tail[-1]
        for end in range(len(hashes), 0, -1):
            if hashes[end - 1] == last and (overlap := self._agreement(hashes, end)):
                return Place(
                    overlap,
                    new_lines=len(hashes) - end,
                    is_whole=end >= self.length,
                    is_sure=self._is_window(view),
                )
        return None

    def _agreement(self, hashes: tuple[int, ...], end: int) -> int:
        """Return how many lines before `end` agree with the tail; 0 where any disagrees."""
        many = min(len(self.tail), end)
        return many if hashes[end - many : end] == self.tail[-many:] else 0

    def _is_window(self, view: View) -> bool:
        seen = self.seen.get(view.observer)
        return seen is not None and seen.is_trimmed

    def _is_behind(self, view: View) -> bool:
        """Whether the observer has not seen as much of this run before as it shows now."""
        seen = self.seen.get(view.observer)
        return seen is None or seen.length < len(view.lines)

    def _back(self, view: View) -> Place | None:
        """Compare beginnings: a view that begins as this run did shows it up to an earlier point."""
        overlap = 0
        for shown, known in zip(view.hashes, self.head, strict=False):
            if shown != known:
                break
            overlap += 1
        return Place(overlap, 0, is_whole=True, is_return=True) if overlap else None
