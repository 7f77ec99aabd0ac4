"""Rate limits per key and the plan's quota: pure, the time is passed in (unix seconds)."""

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum

from memotel.devserver.routes import RECALLS, Route, Service


@dataclass(frozen=True, slots=True)
class RateLimit:
    """How many requests a key may make per second, minute and hour; None: any number.

    ``searches_per_min`` counts recalls and searches alone, ``concurrent`` requests in progress.
    """

    per_s: int | None = None
    per_min: int | None = None
    per_hour: int | None = None
    searches_per_min: int | None = None
    concurrent: int | None = None


REKALL_FREE = RateLimit(per_min=100, searches_per_min=50, concurrent=5)
REKALL_PRO = RateLimit(per_min=1_000)
MEMORYSYNC_FREE = RateLimit(per_s=2, per_min=30, per_hour=100)


def unlimited(service: Service) -> RateLimit:
    """Return the limit where none is set. Rekall tells one in every answer, so it has a big one."""
    return RateLimit(per_min=1_000_000) if service is Service.REKALL else RateLimit()


class QuotaMode(StrEnum):
    """How a used-up quota shows: as emptiness without a word, or as an error."""

    SILENT = "silent"
    STRICT = "strict"


@dataclass(frozen=True, slots=True)
class Quota:
    """How many writes are still allowed, per key, from the moment it is set."""

    adds: int
    mode: QuotaMode = QuotaMode.SILENT

    def __post_init__(self) -> None:
        if self.adds < 0:
            raise ValueError(f"adds={self.adds} must not be negative")


@dataclass(frozen=True, slots=True)
class Allowance:
    """Where a key stands in its tightest window.

    ``reset_at`` is in unix seconds; ``retry_after_s`` is None unless the request is refused.
    """

    limit: int
    window_s: int
    remaining: int
    reset_at: float
    retry_after_s: float | None = None


@dataclass(slots=True)
class _Window:
    """A fixed window that starts with the first request in it."""

    limit: int
    window_s: int
    started: float = float("-inf")
    count: int = 0

    def roll(self, now: float) -> None:
        if now - self.started >= self.window_s:
            self.started, self.count = now, 0

    def allowance(self, now: float) -> Allowance:
        reset_at = self.started + self.window_s
        is_full = self.count >= self.limit
        remaining = max(0, self.limit - self.count)
        retry = max(1.0, float(math.ceil(reset_at - now))) if is_full else None
        return Allowance(self.limit, self.window_s, remaining, reset_at, retry)


@dataclass(slots=True)
class Meter:
    """One key's use: its windows and its writes."""

    rate: RateLimit
    quota: Quota | None
    adds: int = 0
    _all: list[_Window] = field(default_factory=list)
    _searches: list[_Window] = field(default_factory=list)

    def __post_init__(self) -> None:
        limits = ((self.rate.per_s, 1), (self.rate.per_min, 60), (self.rate.per_hour, 3600))
        self._all = [_Window(limit, window_s) for limit, window_s in limits if limit is not None]
        searches = self.rate.searches_per_min
        self._searches = [] if searches is None else [_Window(searches, 60)]

    def take(self, route: Route, now: float) -> Allowance | None:
        """Count a request; None where no window applies. A refused request is not counted."""
        windows = self._all + (self._searches if route in RECALLS else [])
        for window in windows:
            window.roll(now)
        refused = [w.allowance(now) for w in windows if w.count >= w.limit]
        if refused:
            return max(refused, key=lambda allowance: allowance.reset_at)
        for window in windows:
            window.count += 1
        allowances = (window.allowance(now) for window in windows)
        tightest = min(allowances, key=lambda allowance: allowance.remaining, default=None)
        return tightest and replace(tightest, retry_after_s=None)

    def is_crowded(self, in_progress: int) -> bool:
        """Say whether that many requests in progress, this one included, are too many."""
        return self.rate.concurrent is not None and in_progress > self.rate.concurrent

    def is_over_quota(self) -> bool:
        """Say whether the plan allows no further write."""
        return self.quota is not None and self.adds >= self.quota.adds
