"""What it costs to tell who is who among utterances, with 100,000 keys alive: time an operation, and memory.

Each operation is of another session than the one before, so that nothing is warm. Run: python -m benchmarks.identity_cost
"""

import gc
import random
import statistics
import time
import tracemalloc
from collections.abc import Callable

from benchmarks.harness import Figure, Options, Worker, options, report, spread
from benchmarks.pace import bare_request_us, pace_note, pace_of
from memotel.outcomes import Speaker
from memotel.values import Scope, Turn
from memotel.writes.history import Line
from memotel.writes.identity import Sightings

KEYS = 100_000
LIMIT_US = 10.0
LIMIT_MIB = 32.0
SHAPES = {"1,000 sessions of 100 lines": 1_000, "100 sessions of 1,000 lines": 100}
ROUND = 1_000
"""Operations that are timed as one, so that the clock costs nothing."""

ROUNDS_A_LOOK = 5
"""So often the machine's pace is looked at."""


class Conversations:
    """Sessions that all grow; each line is seen by one hook that sees the whole history."""

    def __init__(self, sessions: int) -> None:
        self.sightings = Sightings("account")
        self.scopes = [Scope(f"user {n}", f"session {n}") for n in range(sessions)]
        self.lines: list[list[Line]] = [[] for _ in range(sessions)]
        self._random = random.Random(1)  # noqa: S311 # an order, no secret

    def grow(self, keys: int) -> None:
        """Have every session grow by as many lines, until `keys` keys are alive."""
        for _ in range(keys // len(self.scopes)):
            for number in range(len(self.scopes)):
                self.sightings.see(self.turn(number), self.lines[number])

    def turn(self, number: int, observer: str = "assistant/received") -> Turn:
        """Return the next turn of a session, which its history ends with."""
        lines = self.lines[number]
        speaker = Speaker.AI if len(lines) % 2 else Speaker.HUMAN
        text = f"This is line {len(lines)} of conversation {number}: she likes her tea warm."
        lines.append((speaker, text))
        return Turn(self.scopes[number], speaker, text, observer=observer)

    def fresh(self, count: int) -> list[tuple[Turn, list[Line]]]:
        """Return new turns of that many sessions, drawn by chance."""
        drawn = [self._random.randrange(len(self.scopes)) for _ in range(count)]
        return [(self.turn(number), self.lines[number]) for number in dict.fromkeys(drawn)]

    def echoes(self, count: int) -> list[tuple[Turn, list[Line]]]:
        """Return the last turn of that many sessions, as a second hook sees it."""
        drawn = [self._random.randrange(len(self.scopes)) for _ in range(count)]
        return [
            (
                Turn(self.scopes[number], *self.lines[number][-1], observer="ada/sent"),
                self.lines[number],
            )
            for number in drawn
        ]


def timing(sessions: int) -> Callable[[str], list[float]]:
    """Return what times a round of one kind: the processor's microseconds of each operation."""
    talk = Conversations(sessions)
    talk.grow(KEYS)
    gc.collect()
    gc.freeze()  # the conversations are the benchmark's, and an application's collector would not walk them now

    def round_of(kind: str) -> list[float]:
        seen = talk.fresh(ROUND) if kind == "new" else talk.echoes(ROUND)
        see = talk.sightings.see
        began = time.thread_time()
        for turn, lines in seen:
            see(turn, lines)
        return [(time.thread_time() - began) / len(seen) * 1e6]

    return round_of


def memory(sessions: int) -> Callable[[int], list[float]]:
    """Return what measures the bytes that so many keys occupy, the conversations themselves apart."""

    def measure(keys: int) -> list[float]:
        tracemalloc.start()
        talk = Conversations(sessions)
        before = tracemalloc.get_traced_memory()[0]
        talk.grow(keys)
        talk.lines.clear()
        gc.collect()
        return [(tracemalloc.get_traced_memory()[0] - before) / 2**20]

    return measure


def figures(asked: Options) -> list[Figure]:
    """Measure both shapes of 100,000 keys."""
    found = []
    rounds = asked.of(50, 10)
    for name, sessions in SHAPES.items():
        with Worker(__name__, "timing", sessions) as worker:
            for kind in ("new", "echo"):
                each, looks = [], []
                for number in range(rounds):
                    if number % ROUNDS_A_LOOK == 0:
                        looks.append(bare_request_us())
                    each.append(worker.round(kind)[0])
                pace = pace_of(looks)
                typical, limit = statistics.median(each), LIMIT_US * pace
                note = f"p90 of the rounds {spread(each, 0.9):.1f}; "
                note += pace_note(LIMIT_US, "us", pace)
                found.append(Figure(f"{name}: {kind} turn", typical, "us", limit, note=note))
        with Worker(__name__, "memory", sessions) as worker:
            (size,) = worker.round(KEYS)
            found.append(Figure(f"{name}: memory", size, "MiB", LIMIT_MIB))
    return found


def main() -> None:
    """Measure and print."""
    asked = options(__doc__)
    remark = f"{KEYS:,} keys alive; times are of the processor, {ROUND:,} operations a round."
    report("What identity costs", figures(asked), asked, [remark])


if __name__ == "__main__":
    main()
