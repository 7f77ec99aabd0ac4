"""The circuit breaker's rules: when it opens, who may probe, when it closes. Pure; time is an argument.

A trip starts a new generation; verdicts of calls that were admitted before it are ignored, so a late answer
neither closes an open circuit nor opens a closed one again.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from memotel.config import BreakerPolicy
from memotel.outcomes import CircuitState

_BUCKETS = 10
_LATENCIES_KEPT = 64


class Admission(StrEnum):
    """What an arriving call may do."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    PROBE = "probe"


class Verdict(StrEnum):
    """What one admitted call says of the service.

    `ANSWERED` is an error that a working service gives (4xx): it counts neither way, but ends a probe well.
    `NEUTRAL` says nothing (shed, cancelled, our own fault) and gives a probe back.
    """

    SUCCESS = "success"
    FAILURE = "failure"
    TIMEOUT = "timeout"
    ANSWERED = "answered"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Ticket:
    """Proof of admission, handed back with the verdict."""

    admission: Admission
    generation: int


class CircuitBreaker:
    """One account's breaker. Safe from any thread; the lock is never held across a wait.

    Args:
        policy: when it opens and for how long.
        rng: returns a number in [0, 1), for jitter.
        on_change: called with the new state, outside the lock.
    """

    def __init__(
        self,
        policy: BreakerPolicy,
        rng: Callable[[], float],
        on_change: Callable[[CircuitState], None] = lambda _: None,
    ) -> None:
        self._policy = policy
        self._rng = rng
        self._on_change = on_change
        self._lock = threading.Lock()
        self._state = CircuitState.CLOSED
        self._generation = 0
        self._open_until = 0.0
        self._open_for_s = policy.open_s
        self._timeouts_in_row = 0
        self._buckets: deque[list[float]] = deque(maxlen=_BUCKETS)
        self._latencies: deque[float] = deque(maxlen=_LATENCIES_KEPT)

    @property
    def state(self) -> CircuitState:
        """The state as of the last admission or verdict."""
        return self._state

    def admit(self, now: float) -> Ticket:
        """Say whether a call that arrives at `now` may go out, or is the one that probes."""
        with self._lock:
            if self._state is CircuitState.CLOSED:
                return Ticket(Admission.ALLOWED, self._generation)
            if self._refuses(now):
                return Ticket(Admission.REFUSED, self._generation)
            self._state = CircuitState.HALF_OPEN
            self._generation += 1
            ticket = Ticket(Admission.PROBE, self._generation)
        self._on_change(CircuitState.HALF_OPEN)
        return ticket

    def refuses(self, now: float) -> bool:
        """Whether `admit` would refuse, which changes nothing."""
        with self._lock:
            return self._refuses(now)

    def _refuses(self, now: float) -> bool:
        if self._state is CircuitState.OPEN:
            return now < self._open_until
        return self._state is CircuitState.HALF_OPEN

    def record(
        self,
        ticket: Ticket,
        verdict: Verdict,
        now: float,
        *,
        budget_s: float = 0.0,
        duration_s: float | None = None,
    ) -> None:
        """Take the verdict of one admitted call; each ticket is handed back exactly once."""
        with self._lock:
            if ticket.generation != self._generation:
                return
            before = self._state
            if verdict is Verdict.SUCCESS and duration_s is not None:
                self._latencies.append(duration_s)
            if ticket.admission is Admission.PROBE:
                self._after_probe(verdict, now)
            else:
                self._after_call(self._weigh(verdict, budget_s), now)
            after = self._state
        if after is not before:
            self._on_change(after)

    def wait_s(self, now: float) -> float:
        """Seconds for which writes hold back: the rest of an open period, 0 when they may go.

        While a probe is out they hold back in short steps.
        """
        with self._lock:
            if self._state is CircuitState.HALF_OPEN:
                return min(self._policy.open_s, 0.25)
            return max(0.0, self._open_until - now) if self._state is CircuitState.OPEN else 0.0

    def typical_latency_s(self) -> float | None:
        """The median of recent successful calls, or None before the first."""
        with self._lock:
            return self._p50()

    def _p50(self) -> float | None:
        return median(self._latencies) if self._latencies else None

    def _weigh(self, verdict: Verdict, budget_s: float) -> Verdict:
        """Make a timeout neutral where the budget was too short to blame the service."""
        if verdict is not Verdict.TIMEOUT or budget_s >= self._policy.min_timeout_budget_s:
            return verdict
        p50 = self._p50()
        is_fair = p50 is not None and budget_s >= self._policy.min_timeout_p50_multiple * p50
        return Verdict.TIMEOUT if is_fair else Verdict.NEUTRAL

    def _after_probe(self, verdict: Verdict, now: float) -> None:
        if verdict in (Verdict.SUCCESS, Verdict.ANSWERED):
            self._close()
        elif verdict is Verdict.NEUTRAL:
            self._state = CircuitState.OPEN
            self._open_until = now
        else:
            self._open_for_s = min(self._open_for_s * 2, self._policy.max_open_s)
            self._open(now)

    def _after_call(self, verdict: Verdict, now: float) -> None:
        if verdict in (Verdict.NEUTRAL, Verdict.ANSWERED):
            return
        self._count(verdict is not Verdict.SUCCESS, now)
        if verdict is Verdict.SUCCESS:
            self._timeouts_in_row = 0
            return
        self._timeouts_in_row += verdict is Verdict.TIMEOUT
        if self._timeouts_in_row >= self._policy.consecutive_timeouts or self._is_failing(now):
            self._open(now)

    def _count(self, is_failure: bool, now: float) -> None:
        width_s = self._policy.window_s / _BUCKETS
        if not self._buckets or now - self._buckets[-1][0] >= width_s:
            self._buckets.append([now, 0, 0])
        self._buckets[-1][1] += 1
        self._buckets[-1][2] += is_failure

    def _is_failing(self, now: float) -> bool:
        recent = [b for b in self._buckets if now - b[0] < self._policy.window_s]
        calls = sum(b[1] for b in recent)
        failures = sum(b[2] for b in recent)
        return calls >= self._policy.min_calls and failures >= self._policy.failure_share * calls

    def _open(self, now: float) -> None:
        self._generation += 1
        self._state = CircuitState.OPEN
        jitter = 1 + self._policy.jitter_share * (2 * self._rng() - 1)
        self._open_until = now + self._open_for_s * jitter
        self._forget()

    def _close(self) -> None:
        self._generation += 1
        self._state = CircuitState.CLOSED
        self._open_for_s = self._policy.open_s
        self._forget()

    def _forget(self) -> None:
        self._timeouts_in_row = 0
        self._buckets.clear()
