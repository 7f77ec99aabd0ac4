"""Which genuine repeat an utterance is: the n-th time that these words were said in this session.

Read off the history that a hook sees, so that every observer, retry and regeneration finds the same number, and carried
on from the earlier runs of the session in this process. A run begins when the visible history no longer extends the one
last seen; a history of two or more lines that begins as an earlier run did resumes that run. Bounded: the sessions
that were quiet longest are forgotten, after which their count begins anew with the history.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import islice

from memotel.outcomes import Speaker
from memotel.values import Scope
from memotel.writes.history import History, Line, Place, Run, line_hash, times_said

MAX_SESSIONS = 10_000
MAX_TEXTS = 100_000
MAX_RUNS = 8
"""Conversations of one session that are kept apart; the one that was quiet longest is forgotten."""

NO_RUN = 0
"""Number of the run that utterances without a visible history belong to."""

Share = tuple[int, int]
"""(run, how many occurrences in a row belong to it)."""


@dataclass(slots=True, eq=False)
class Session:
    """What is remembered of one session.

    `texts` has, for each utterance, whose occurrences are whose: ((1, 2), (3, 1)) reads "the first two were said in
    run 1, the third in run 3". `sightings` counts per observer what was said without a visible history.
    """

    runs: list[Run] = field(default_factory=list)
    last_run: int = NO_RUN
    texts: dict[int, tuple[Share, ...]] = field(default_factory=dict)
    sightings: dict[tuple[str, int], int] = field(default_factory=dict)
    opening: tuple[Share, ...] = ()

    def fit(self, history: History, observer: str) -> tuple[Run, Place]:
        """Return the run that a history belongs to, and its place there; a new run where it fits none."""
        best: tuple[Run, Place] | None = None
        for run in self.runs:
            place = run.place(history, observer)
            if place is not None and place.is_sure:
                return run, place
            if place is not None and (best is None or place.overlap > best[1].overlap):
                best = (run, place)
        return best or (self._new_run(), Place(0, len(history), is_whole=True))

    def times(self, run: Run, place: Place, history: History, line: Line) -> int:
        """Return how often `line` was said in the run so far, what a window hides included."""
        if line[0] is Speaker.AI:
            return 1
        visible = times_said(history, line)
        if place.is_whole:
            return visible
        known = self.in_run(line_hash(line), run.number)
        added = times_said(history[-place.new_lines :], line) if place.new_lines else 0
        return max(known + added, visible)

    def touch(self, run: Run) -> None:
        """Note that a run is the one seen last."""
        if self.runs and self.runs[0] is run:
            return
        self.runs = [run, *(other for other in self.runs if other is not run)][:MAX_RUNS]

    def in_run(self, text: int, run: int) -> int:
        """Return how many occurrences of an utterance belong to a run."""
        return sum(many for number, many in self.texts.get(text, ()) if number == run)

    def occurrence(self, text: int, run: int, nth: int) -> tuple[int, bool]:
        """Return the session's number for the `nth` time in a run, and whether it is new."""
        shares = self.texts.get(text, ())
        before = passed = 0
        for number, many in shares:
            if number == run and passed + many >= nth:
                return before + nth - passed, False
            passed += many if number == run else 0
            before += many
        missing = nth - passed
        self.texts[text] = self._with(shares, run, missing)
        return before + missing, True

    def _with(self, shares: tuple[Share, ...], run: int, missing: int) -> tuple[Share, ...]:
        """Add occurrences of a run; those of runs that are forgotten melt into one share."""
        if not shares and missing == 1:
            return self._opening(run)
        if shares and shares[-1][0] == run:
            return (*shares[:-1], (run, shares[-1][1] + missing))
        if len(shares) > 2 * MAX_RUNS:
            shares = ((-1, sum(many for _, many in shares)),)
        return (*shares, (run, missing))

    def _opening(self, run: int) -> tuple[Share, ...]:
        """Return ((run, 1),), one object for the many utterances that were said once."""
        if not self.opening or self.opening[0][0] != run:
            self.opening = ((run, 1),)
        return self.opening

    def _new_run(self) -> Run:
        self.last_run += 1
        return Run(self.last_run)


class Occurrences:
    """The sessions of one account. Not thread-safe: its owner holds the lock."""

    def __init__(self, *, max_sessions: int = MAX_SESSIONS, max_texts: int = MAX_TEXTS) -> None:
        self._sessions: OrderedDict[Scope, Session] = OrderedDict()
        self._max_sessions = max_sessions
        self._max_texts = max_texts
        self._texts = 0

    def number(self, scope: Scope, line: Line, observer: str, history: History | None) -> int:
        """Return which occurrence in its session `line` is, from 1; an agent's words are always the first.

        Args:
            scope: the session.
            line: who says what, in the form in which it counts.
            observer: who saw it.
            history: the lines that the observer can see, `line` last; None where it sees none: then every sighting
                by one observer is an utterance of its own.
        """
        return self._count(scope, line, observer, history)[0]

    def next_number(self, scope: Scope, line: Line, observer: str, history: History | None) -> int:
        """Return the occurrence of an utterance that is known to be new, whatever the history looks like."""
        number, is_new = self._count(scope, line, observer, history)
        if is_new or line[0] is Speaker.AI:
            return number
        session = self._sessions[scope]
        text = line_hash(line)
        return session.occurrence(text, NO_RUN, session.in_run(text, NO_RUN) + 1)[0]

    def _count(
        self, scope: Scope, line: Line, observer: str, history: History | None
    ) -> tuple[int, bool]:
        session = self._session(scope)
        before = len(session.texts) + len(session.sightings)
        found = self._find(session, line, observer, history)
        self._texts += len(session.texts) + len(session.sightings) - before
        self._shrink(session)
        return found

    def _find(
        self, session: Session, line: Line, observer: str, history: History | None
    ) -> tuple[int, bool]:
        if history is None:
            return _sighting(session, line, observer)
        run, place = session.fit(history, observer)
        nth = session.times(run, place, history, line)
        run.grow(history, observer, place)
        session.touch(run)
        if line[0] is Speaker.AI:
            return 1, True
        return session.occurrence(line_hash(line), run.number, nth)

    def _session(self, scope: Scope) -> Session:
        session = self._sessions.get(scope)
        if session is None:
            session = self._sessions[scope] = Session()
            if len(self._sessions) > self._max_sessions:
                self._forget_oldest()
        else:
            self._sessions.move_to_end(scope)
        return session

    def _forget_oldest(self) -> None:
        _, oldest = self._sessions.popitem(last=False)
        self._texts -= len(oldest.texts) + len(oldest.sightings)

    def _shrink(self, current: Session) -> None:
        while self._texts > self._max_texts and len(self._sessions) > 1:
            self._forget_oldest()
        if self._texts > self._max_texts:
            current.texts = dict(islice(current.texts.items(), len(current.texts) // 2, None))
            current.sightings.clear()
            self._texts = len(current.texts)


def _sighting(session: Session, line: Line, observer: str) -> tuple[int, bool]:
    if line[0] is Speaker.AI:
        return 1, True
    text = line_hash(line)
    nth = session.sightings.get((observer, text), 0) + 1
    session.sightings[observer, text] = nth
    return session.occurrence(text, NO_RUN, nth)
