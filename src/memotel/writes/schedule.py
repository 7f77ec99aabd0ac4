"""Which write is sent next, and what a send changes. Takes the time as an argument; touches no loop and no network.

Only the drain's thread calls it. An entry it hands out is in flight until `settle` is told how that went.
"""

from collections.abc import Callable

from memotel.config import WritePolicy
from memotel.outcomes import RetryCause, WriteOutcome
from memotel.policy.backoff import backoff_s
from memotel.policy.pauses import CredentialLatch, RatePause
from memotel.writes.lanes import Lane, Lanes
from memotel.writes.ledger import Ledger
from memotel.writes.outbox import Entry
from memotel.writes.parking import Parking
from memotel.writes.verdicts import Fate, Verdict
from memotel.writes.window import Window

End = Callable[[Entry, WriteOutcome, str], object]
"""Ends an entry: outcome, and why in one word."""


class Schedule:
    """The plan of one account's deliveries.

    Args:
        policy: every interval and bound.
        ledger: told of parked entries.
        end: called for each entry that ends, in the order in which they do.
        max_parked: how many may wait for a quota.
        rng: a number from 0 to 1, for the jitter.
    """

    def __init__(
        self,
        policy: WritePolicy,
        ledger: Ledger,
        end: End,
        *,
        max_parked: int,
        rng: Callable[[], float],
    ) -> None:
        self._policy = policy
        self._ledger = ledger
        self._end = end
        self._rng = rng
        self._lanes = Lanes()
        self._parking = Parking(
            self._lanes, ledger, capacity=max_parked, recheck_s=policy.quota_recheck_s
        )
        self._rate = RatePause(default_s=0.0, max_s=policy.retry_after_max_s)
        self._successes = 0
        self.window = Window(policy.initial_in_flight, policy.max_in_flight)
        self.credentials = CredentialLatch(policy.credentials_recheck_s)
        self.in_flight = 0
        self.releases = 0

    def add(self, entry: Entry, now: float) -> None:
        """Take an accepted entry in, or one that was adopted."""
        if entry.is_ended:
            return
        lane = self._lanes.add(entry)
        if entry.parked_at is not None:
            self._rejoin(entry, lane, now)
        elif self._parking.holds(lane):
            given_up = self._parking.add(entry, lane, now)
            if given_up is not None:
                self._end(given_up, WriteOutcome.QUOTA, "parked_full")

    def take(self, now: float) -> Entry | None:
        """Return the entry to send now, or None."""
        if self.in_flight >= self.window.limit or self.paused_until(now) > now:
            return None
        entry = self._next(now)
        if entry is None:
            return None
        self.credentials.lets_through(now)
        entry.attempts += 1
        entry.sent_at = now
        entry.is_in_flight = True
        self.in_flight += 1
        return entry

    def _next(self, now: float) -> Entry | None:
        """Return the next head; those that ended while they stood in their lane go."""
        while (entry := self._parking.take(now) or self._lanes.take(now)) is not None:
            if not entry.is_ended:
                return entry
            self._parking.returned(entry)
            self._remove(entry, now)
        return None

    def next_at(self, now: float) -> float | None:
        """Return when `take` may have something, or None where only an event can change that."""
        times = [at for at in (self._lanes.next_at(now), self._parking.next_at()) if at is not None]
        if not times or self.in_flight >= self.window.limit:
            return None
        return max(self.paused_until(now), min(times))

    def paused_until(self, now: float) -> float:
        """Return until when the service has asked for a pause; `now` or earlier where it has not."""
        checked_at = self.credentials.next_check_at if self.credentials.is_rejected else now
        return max(checked_at, now + self._rate.wait_s(now))

    def settle(self, entry: Entry, verdict: Verdict, now: float) -> None:
        """Take what a send said of its entry."""
        self.in_flight -= 1
        self._parking.returned(entry)
        self._learn(entry, verdict, now)
        self._follow(entry, verdict, now)
        entry.is_in_flight = False

    def _follow(self, entry: Entry, verdict: Verdict, now: float) -> None:
        """Do with the entry what the verdict says."""
        if entry.is_ended:
            self._remove(entry, now)
        elif verdict.fate is Fate.ENDED:
            self._finish(entry, verdict, now)
        elif verdict.fate is Fate.PARKED:
            self._park(entry, now)
        elif self._is_poison(entry, verdict):
            self._end(entry, WriteOutcome.REJECTED, "poison")
            self._remove(entry, now)
        else:
            self._repeat(entry, verdict, now)

    def quota_returned(self, now: float) -> None:
        """Have everything that is parked queue up again; `releases` says how often that happened."""
        if self._parking:
            self.releases += 1
        self._parking.release(now + self._policy.max_age_s)

    def credentials_accepted(self) -> None:
        """End the pause that rejected credentials began."""
        self.credentials.accept()

    def sweep(self, now: float) -> None:
        """End what is too old: `expired`, or `quota` for what was parked too long."""
        while (entry := self._ledger.oldest()) is not None and entry.expires_at <= now:
            if entry.is_in_flight:
                break
            self._end(entry, WriteOutcome.EXPIRED, "age")
            self._lanes.pop(entry)
        while (entry := self._ledger.oldest_parked()) is not None and self._gives_up_at(
            entry
        ) <= now:
            if entry.is_in_flight:
                break
            self._end(entry, WriteOutcome.QUOTA, "parked_age")
            self._parking.pop(entry, now)

    def next_sweep_at(self) -> float | None:
        """Return when the next entry will be too old, or None where nothing waits."""
        waiting, parked = self._ledger.oldest(), self._ledger.oldest_parked()
        times = [] if waiting is None or waiting.is_in_flight else [waiting.expires_at]
        if parked is not None and not parked.is_in_flight:
            times.append(self._gives_up_at(parked))
        return min(times, default=None)

    def _gives_up_at(self, entry: Entry) -> float:
        parked_at = 0.0 if entry.parked_at is None else entry.parked_at
        return parked_at + self._policy.max_parked_age_s

    def _learn(self, entry: Entry, verdict: Verdict, now: float) -> None:
        """Take what a send says of the whole account."""
        if verdict.is_throttled:
            self.window.throttled(entry.sent_at, now)
        elif verdict.fate in (Fate.ENDED, Fate.PARKED):
            self.window.answered()
        if verdict.retry_after_s is not None:
            self._rate.limit(now, verdict.retry_after_s)
        if verdict.fate is Fate.CREDENTIALS:
            self.credentials.reject(now)
        elif verdict.fate in (Fate.ENDED, Fate.PARKED) or verdict.is_throttled:
            self.credentials.accept()

    def _finish(self, entry: Entry, verdict: Verdict, now: float) -> None:
        outcome = verdict.outcome or WriteOutcome.DROPPED
        if outcome is not WriteOutcome.REJECTED:
            self._successes += 1
        self._end(entry, outcome, "answer")
        if verdict.is_healthy:
            self.quota_returned(now)
        self._remove(entry, now)

    def _remove(self, entry: Entry, now: float) -> None:
        if self._parking.holds(self._lanes.lane(entry)):
            self._parking.pop(entry, now)
            return
        lane = self._lanes.pop(entry)
        if lane is not None:
            self._lanes.release(lane)

    def _rejoin(self, entry: Entry, lane: Lane, now: float) -> None:
        """Take in what another process had parked: alone in its scope it stays parked, else it goes with the others."""
        if self._parking.holds(lane):
            return
        if lane.entries[0] is entry:
            self._park(entry, now)
        else:
            self._ledger.unpark(entry, now + self._policy.max_age_s)

    def _park(self, entry: Entry, now: float) -> None:
        for given_up in self._parking.park(self._lanes.lane(entry), now):
            self._end(given_up, WriteOutcome.QUOTA, "parked_full")

    def _is_poison(self, entry: Entry, verdict: Verdict) -> bool:
        """Count a server's fault against the write only if the account had a success since its last one."""
        if not verdict.is_server_fault:
            return False
        if self._successes > entry.successes_seen:
            entry.successes_seen = self._successes
            entry.server_errors += 1
        return entry.server_errors >= self._policy.poison_attempts

    def _repeat(self, entry: Entry, verdict: Verdict, now: float) -> None:
        if verdict.fate is Fate.RETRY:
            self._ledger.retried(verdict.cause or RetryCause.STATUS)
            entry.due_at = now + self._backoff_s(entry)
        else:
            entry.attempts -= 1
            is_held = verdict.fate is Fate.HELD
            entry.due_at = now + (self._policy.backoff_initial_s if is_held else 0.0)
        if self._parking.holds(self._lanes.lane(entry)):
            self._parking.keep(entry)
        else:
            self._lanes.wait(entry)

    def _backoff_s(self, entry: Entry) -> float:
        policy = self._policy
        return backoff_s(entry.attempts, policy.backoff_initial_s, policy.backoff_max_s, self._rng)
