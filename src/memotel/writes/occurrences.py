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
from memotel.values import Scope, Turn
from memotel.writes.history import Place, Run, View, line_hash, times_said

MAX_SESSIONS = 10_000
MAX_TEXTS = 100_000
MAX_RUNS = 8
"""Conversations of one session that are kept apart; the one that was quiet longest is forgotten."""

NO_RUN = 0
"""Number of the run that utterances without a visible history belong to."""

FORGOTTEN_RUN = -1
"""Stands for all runs that are forgotten."""

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
    looks: int = 0

    def fit(self, view: View) -> tuple[Run, Place]:
        """Return the run that a view belongs to, and its place there; a new run where it fits none."""
        for run in self.runs:
            place = run.carried_on(view)
            if place is not None:
                return run, place
        best = None if view.is_opening else self._best(view)
        return best or (self._new_run(), Place(0, len(view.lines), is_whole=True))

    def _best(self, view: View) -> tuple[Run, Place] | None:
        """Return the run that its observer saw last, one line on; else that of which most is seen again."""
        best: tuple[Run, Place] | None = None
        latest = max((run.last_look(view.observer) for run in self.runs), default=0)
        for run in self.runs:
            place = run.place(view)
            if place is not None and place.is_next and run.last_look(view.observer) == latest > 0:
                return run, place
            if place is not None and (best is None or place.overlap > best[1].overlap):
                best = (run, place)
        return best

    def take(self, view: View) -> int:
        """Take a view in; return which occurrence in the session its turn is. An agent's words are always the first."""
        self.looks += 1
        if self.runs and self.runs[0].is_continued(view):
            return self._go_on(self.runs[0], view)
        run, place = self.fit(view)
        run.grow(view, place, self.looks)
        self._touch(run)
        for at in range(len(view.lines) - place.new_lines, len(view.lines)):
            if view.lines[at][0] is not Speaker.AI:
                self._count(view, at, run, is_whole=place.is_whole)
        line = view.lines[view.at]
        if line[0] is Speaker.AI:
            return 1
        return self.occurrence(line_hash(line), run.number, self._nth(run, place, view))

    def _go_on(self, run: Run, view: View) -> int:
        """Take in a view that is a run as it was seen last, or one line more; return as `take` does."""
        is_new = len(view.lines) > run.length
        if is_new:
            run.add(view)
        run.saw(view.observer, self.looks)
        line = view.lines[-1]
        if line[0] is Speaker.AI:
            return 1
        text = line_hash(line)
        if is_new:
            return self._another(text, run.number)
        return self.occurrence(text, run.number, self.in_run(text, run.number))

    def _count(self, view: View, at: int, run: Run, *, is_whole: bool) -> None:
        """Count a line that is new to a run: what was taken back and is said again stands there once."""
        line = view.lines[at]
        text = line_hash(line)
        if is_whole and not run.is_straight:
            self.occurrence(text, run.number, times_said(view.lines[: at + 1], line))
        else:
            self._another(text, run.number)

    def _another(self, text: int, run: int) -> int:
        """Count one more occurrence in a run; return the session's number for it."""
        if text not in self.texts:
            self.texts[text] = self._opening(run)
            return 1
        return self.occurrence(text, run, self.in_run(text, run) + 1)

    def said(self, text: int) -> int:
        """Return how many occurrences of an utterance are known."""
        return sum(many for _, many in self.texts.get(text, ()))

    def _nth(self, run: Run, place: Place, view: View) -> int:
        """Return which time in its run the view's turn is said."""
        line = view.lines[view.at]
        if place.is_whole and not (place.is_sure and run.is_straight):
            return times_said(view.lines[: view.at + 1], line)
        later = times_said(view.lines[view.at + 1 :], line)
        return max(1, self.in_run(line_hash(line), run.number) - later)

    def forget_half(self) -> None:
        """Forget the older half of the utterances, and all that was said without a history."""
        self.texts = dict(islice(self.texts.items(), len(self.texts) // 2, None))
        self.sightings.clear()
        for run in self.runs:
            run.is_straight = False

    def _touch(self, run: Run) -> None:
        """Note that a run is the one seen last."""
        if self.runs and self.runs[0] is run:
            return
        self.runs = [run, *(other for other in self.runs if other is not run)][:MAX_RUNS]

    def in_run(self, text: int, run: int) -> int:
        """Return how many occurrences of an utterance belong to a run."""
        shares = self.texts.get(text)
        if shares is None:
            return 0
        if len(shares) == 1:
            number, many = shares[0]
            return many if number == run else 0
        return sum(many for number, many in shares if number == run)

    def occurrence(self, text: int, run: int, nth: int) -> int:
        """Return the session's number for the `nth` time in a run, which is given out where it is new."""
        shares = self.texts.get(text, ())
        before = passed = 0
        for number, many in shares:
            if number == run and passed + many >= nth:
                return before + nth - passed
            passed += many if number == run else 0
            before += many
        missing = nth - passed
        self.texts[text] = self._with(shares, run, missing)
        return before + missing

    def _with(self, shares: tuple[Share, ...], run: int, missing: int) -> tuple[Share, ...]:
        """Add occurrences of a run; those of runs that are forgotten melt together."""
        if not shares and missing == 1:
            return self._opening(run)
        if shares and shares[-1][0] == run:
            return (*shares[:-1], (run, shares[-1][1] + missing))
        if len(shares) > 2 * MAX_RUNS:
            shares = self._melted(shares)
        return (*shares, (run, missing))

    def _melted(self, shares: tuple[Share, ...]) -> tuple[Share, ...]:
        live = {NO_RUN, *(run.number for run in self.runs)}
        result: list[Share] = []
        for number, many in shares:
            kept = number if number in live else FORGOTTEN_RUN
            before = result.pop()[1] if result and result[-1][0] == kept else 0
            result.append((kept, before + many))
        return tuple(result)

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
        self._sessions: OrderedDict[tuple[str, str], Session] = OrderedDict()
        self._max_sessions = max_sessions
        self._max_texts = max_texts
        self._texts = 0

    def number(self, turn: Turn, view: View | None) -> int:
        """Return which occurrence in its session a turn is, from 1; an agent's words are always the first.

        `view` is what its observer can see; None where it sees no history: then every sighting by one observer is an
        utterance of its own.
        """
        session = self._session(turn.scope)
        before = len(session.texts) + len(session.sightings)
        number = _number(session, turn, view)
        self._texts += len(session.texts) + len(session.sightings) - before
        self._shrink(session)
        return number

    def next_number(self, turn: Turn, view: View | None) -> int:
        """Return the occurrence of a turn that is known to be new, whatever its history looks like."""
        session = self._session(turn.scope)
        text = line_hash((turn.speaker, turn.text))
        known = session.said(text)
        number = self.number(turn, view)
        if number > known or turn.speaker is Speaker.AI:
            return number
        return session.occurrence(text, NO_RUN, session.in_run(text, NO_RUN) + 1)

    def _session(self, scope: Scope) -> Session:
        name = scope.user_id, scope.session_id
        session = self._sessions.get(name)
        if session is None:
            session = self._sessions[name] = Session()
            if len(self._sessions) > self._max_sessions:
                self._forget_oldest()
        else:
            self._sessions.move_to_end(name)
        return session

    def _forget_oldest(self) -> None:
        _, oldest = self._sessions.popitem(last=False)
        self._texts -= len(oldest.texts) + len(oldest.sightings)

    def _shrink(self, current: Session) -> None:
        while self._texts > self._max_texts and len(self._sessions) > 1:
            self._forget_oldest()
        if self._texts > self._max_texts:
            current.forget_half()
            self._texts = len(current.texts)


def _number(session: Session, turn: Turn, view: View | None) -> int:
    if view is not None:
        return session.take(view)
    text = line_hash((turn.speaker, turn.text))
    nth = session.sightings.get((turn.observer, text), 0) + 1
    session.sightings[turn.observer, text] = nth
    return 1 if turn.speaker is Speaker.AI else session.occurrence(text, NO_RUN, nth)
