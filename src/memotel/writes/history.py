"""Where a visible history stands in a conversation that was seen before. Pure.

A hook sees a history: lines of (speaker, text). It may be whole or trimmed from the front, and two hooks may see the same
conversation through windows of different width. A run is one conversation as it has grown so far; `Run.place` says how
many of a history's lines are new to it, or that the history goes back to an earlier point of it.
"""

import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memotel.outcomes import Speaker

Line = tuple[Speaker, str]
History = Sequence[Line]

REMEMBERED_LINES = 6
"""How many lines at the beginning and at the end of a run are kept, as hashes, to recognise it by."""

REMEMBERED_BYTES = 8 * REMEMBERED_LINES


def nfc(text: str) -> str:
    """Return the text in the form in which it counts."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def line_hash(line: Line) -> int:
    """Return what a line is recognised by, in this process."""
    return hash(line) if line[1].isascii() else hash((line[0], nfc(line[1])))


def pack(hashes: Iterable[int]) -> bytes:
    """Return hashes as one small object, eight bytes each."""
    return array("q", hashes).tobytes()


def unpack(packed: bytes) -> tuple[int, ...]:
    """Return what `pack` was given."""
    return tuple(array("q", packed))


def hashes_of(history: History) -> bytes:
    """Return what lines are recognised by, packed."""
    return pack(map(line_hash, history))


def fingerprint(lines: History, end: int) -> int:
    """Return what the last remembered lines before `end` are recognised by at once, as they are typed."""
    return hash(tuple(lines[max(0, end - REMEMBERED_LINES) : end]))


def agreement(hashes: Sequence[int], tail: Sequence[int]) -> int:
    """Return how many hashes at the end are those of the tail; 0 where any differs."""
    many = min(len(tail), len(hashes))
    return many if hashes[-many:] == tail[-many:] else 0


def times_said(history: History, line: Line) -> int:
    """Return how often a line stands in a history."""
    if line[1].isascii():
        return history.count(line)
    text = nfc(line[1])
    return sum(1 for speaker, said in history if speaker is line[0] and nfc(said) == text)


def is_same(one: Line, other: Line) -> bool:
    """Whether two lines are the same words of the same speaker."""
    return one[0] is other[0] and (one[1] == other[1] or nfc(one[1]) == nfc(other[1]))


@dataclass(slots=True)
class View:
    """What an observer shows: the lines that it can see, and whether that is all there is. Nothing changes it.

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
    _hashes: tuple[int, ...] | None = field(default=None, init=False)
    _packed: dict[int, bytes] | None = field(default=None, init=False)

    def packed(self, end: int) -> bytes:
        """Return what the last remembered lines before `end` are recognised by; worked out once for all runs."""
        if self._packed is None:
            self._packed = {}
        found = self._packed.get(end)
        if found is None:
            found = hashes_of(self.lines[max(0, end - REMEMBERED_LINES) : end])
            self._packed[end] = found
        return found

    @property
    def hashes(self) -> tuple[int, ...]:
        """What each line is recognised by; worked out when it is first asked for."""
        if self._hashes is None:
            self._hashes = tuple(map(line_hash, self.lines))
        return self._hashes

    @property
    def is_lone(self) -> bool:
        """Whether one line is all that is seen."""
        return len(self.lines) == 1

    @property
    def is_opening(self) -> bool:
        """Whether one line is all that was said: of a run that exists it can only be the first and last."""
        return self.is_complete and self.is_lone


@dataclass(slots=True)
class Place:
    """How a view fits a run. Nothing changes it.

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

    @property
    def is_next(self) -> bool:
        """Whether at most one line was said since."""
        return not self.is_return and self.new_lines <= 1


@dataclass(slots=True)
class Seen:
    """What one observer has seen of a run: up to which line, as which look at the session, and whether through a window."""

    length: int
    look: int
    is_trimmed: bool = False


@dataclass(slots=True, eq=False)
class Run:
    """One conversation as it has grown: its length in lines, and the hashes of its first and last ones.

    `is_straight` while every view of it was whole and went on where the one before had ended: then what was counted of
    its lines on the way is what stands in it.
    """

    number: int
    length: int = 0
    packed_head: bytes = b""
    packed_tail: bytes = b""
    fingerprint: int = 0
    seen: dict[str, Seen] = field(default_factory=dict)
    is_straight: bool = True

    def is_continued(self, view: View) -> bool:
        """Whether a view is this run as it was seen last, or one line more, and its turn is the last one.

        This is what nearly every view is. What is not recognised here still may carry the run on.
        """
        many, end = len(view.lines), self.length
        is_next = end <= many <= end + 1 and view.at == many - 1 and self.is_straight
        return is_next and fingerprint(view.lines, end) == self.fingerprint

    def add(self, view: View) -> None:
        """Take in the one line that a view has more."""
        lines = view.lines
        self.length += 1
        last = pack((line_hash(lines[-1]),))
        self.packed_tail = (self.packed_tail + last)[-REMEMBERED_BYTES:]
        self.fingerprint = fingerprint(lines, self.length)
        if len(self.packed_head) < REMEMBERED_BYTES:
            self.packed_head += last

    def carried_on(self, view: View) -> Place | None:
        """Return the place of a view that begins where this run did and goes on where it ended; else None."""
        many, end = len(view.lines), self.length
        if end > many or view.packed(end) != self.packed_tail:
            return None
        return Place(min(end, REMEMBERED_LINES), many - end, is_whole=True, is_sure=True)

    @property
    def tail(self) -> tuple[int, ...]:
        """Hashes of the last lines."""
        return unpack(self.packed_tail)

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
        if onward is None or back is None:
            return onward or back
        # Words that come round again fit both ways: what begins as the run did is the run, up to an earlier point.
        is_back = back.overlap >= onward.overlap + onward.is_whole
        return back if is_back else onward

    def grow(self, view: View, place: Place, look: int) -> None:
        """Take in what a view adds; `look` is the number of this look at the session."""
        lines, many = view.lines, len(view.lines)
        is_on = place.is_whole and (place.is_sure or not self.length)
        self.is_straight = self.is_straight and is_on
        if place.is_return and self._is_behind(view):
            self.seen[view.observer] = Seen(many, look)
            return
        self.length = many if place.is_whole else self.length + place.new_lines
        if place.is_return or (place.is_whole and place.new_lines):
            self.packed_tail = view.packed(many)
        elif place.new_lines:
            fresh = lines[-min(place.new_lines, REMEMBERED_LINES) :]
            self.packed_tail = (self.packed_tail + hashes_of(fresh))[-REMEMBERED_BYTES:]
        if len(self.packed_head) < REMEMBERED_BYTES and place.is_whole:
            self.packed_head = view.packed(min(many, REMEMBERED_LINES))
        self.fingerprint = fingerprint(lines, many)
        self.saw(view.observer, look, is_trimmed=many < self.length)

    def saw(self, observer: str, look: int, *, is_trimmed: bool = False) -> None:
        """Note how much of this run an observer has seen: all of it, or the end of it."""
        seen = self.seen.get(observer)
        if seen is None:
            self.seen[observer] = Seen(self.length, look, is_trimmed)
        else:
            seen.length, seen.look, seen.is_trimmed = self.length, look, is_trimmed

    def last_look(self, observer: str) -> int:
        """Return the number of an observer's last look that showed this run, 0 where none did."""
        seen = self.seen.get(observer)
        return 0 if seen is None else seen.look

    def _onward(self, view: View) -> Place | None:
        """Find the end of this run in the view, with all that both remember before it."""
        hashes, tail = view.hashes, self.tail
        for end in range(len(hashes), 0, -1):
            if hashes[end - 1] == tail[-1] and (overlap := agreement(hashes[:end], tail)):
                return Place(
                    overlap,
                    new_lines=len(hashes) - end,
                    is_whole=end >= self.length,
                    is_sure=self._is_window(view),
                )
        return None

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
        for shown, known in zip(view.hashes, unpack(self.packed_head), strict=False):
            if shown != known:
                break
            overlap += 1
        return Place(overlap, 0, is_whole=True, is_return=True) if overlap else None
