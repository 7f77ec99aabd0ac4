"""Those who wait for writes: a flush for all that was accepted before it, a delivery for one."""

from concurrent.futures import Future
from dataclasses import dataclass, field

from memotel.errors import MemotelError
from memotel.outcomes import WriteOutcome
from memotel.values import WriteAnswer
from memotel.writes.books import KEPT
from memotel.writes.outbox import Entry


@dataclass(frozen=True, slots=True)
class Ending:
    """How a write ended for the one who waits: outcome (`QUOTA`: parked, or given up), answer, error."""

    outcome: WriteOutcome
    answer: WriteAnswer | None = None
    error: Exception | None = None


@dataclass(slots=True, eq=False)
class FlushWaiter:
    """A flush: waits for every write up to `last_seq`, until `deadline` (monotonic seconds)."""

    last_seq: int
    deadline: float
    done: "Future[None]" = field(default_factory=Future)


def answer_of(ending: Ending) -> WriteAnswer:
    """Return what the service answered, or raise why the write was not kept."""
    if ending.outcome in KEPT or ending.outcome is WriteOutcome.QUOTA:
        return ending.answer or WriteAnswer(ending.outcome)
    raise ending.error or MemotelError(f"the write was not kept: {ending.outcome}")


def resolve(future: "Future[Ending]", ending: Ending) -> None:
    """Give a waiter its ending, unless it has given up."""
    if future.set_running_or_notify_cancel():
        future.set_result(ending)


class Deliveries:
    """Futures of single writes, by entry. Thread-safe: each is put in before its entry is planned."""

    def __init__(self) -> None:
        self._futures: dict[int, Future[Ending]] = {}

    def expect(self, entry: Entry, future: "Future[Ending]") -> None:
        """Have `future` told how the entry ends, or that it is parked."""
        self._futures[entry.seq] = future

    def tell(self, entry: Entry, outcome: WriteOutcome) -> None:
        """Tell whoever waits for this entry, once."""
        future = self._futures.pop(entry.seq, None) if self._futures else None
        if future is not None:
            resolve(future, Ending(outcome, entry.answer, entry.error))


class Flushes:
    """The flushes that wait. Used on the drain's thread only."""

    def __init__(self) -> None:
        self._waiters: list[FlushWaiter] = []

    def add(self, waiter: FlushWaiter) -> None:
        """Wait from now on."""
        self._waiters.append(waiter)

    def discard(self, waiter: FlushWaiter) -> None:
        """Wait no more."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)

    def extend(self, last_seq: int) -> None:
        """Have every flush wait for writes up to `last_seq` too: parked ones are on their way again."""
        for waiter in self._waiters:
            waiter.last_seq = max(waiter.last_seq, last_seq)

    def check(self, oldest: Entry | None, next_send_at: float | None) -> None:
        """End those for which nothing is left, or nothing more can happen in time.

        Args:
            oldest: the oldest entry that waits and is not parked.
            next_send_at: when the next send may start; None where none is planned. Infinity is not used.
        """
        for waiter in list(self._waiters):
            is_empty = oldest is None or oldest.seq > waiter.last_seq
            is_hopeless = next_send_at is None or next_send_at > waiter.deadline
            if is_empty or is_hopeless:
                self._waiters.remove(waiter)
                waiter.done.set_result(None)

    def __bool__(self) -> bool:
        return bool(self._waiters)
