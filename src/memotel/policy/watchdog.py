"""When a client is given up: work on it outlived its deadline, and neither a slow loop nor haste explains it. Pure."""

from memotel.config import WatchdogPolicy


def is_overdue(deadline_at: float, now: float, policy: WatchdogPolicy) -> bool:
    """Whether work that should have ended at `deadline_at` is suspiciously late at `now`."""
    return now >= deadline_at + policy.grace_s


def may_renew(*, lag_s: float, since_last_s: float, policy: WatchdogPolicy) -> bool:
    """Whether overdue work may cost a client its place.

    Not while the loop itself lags (then everything is late), and not more than once in `min_interval_s`.
    """
    return lag_s <= policy.max_lag_s and since_last_s >= policy.min_interval_s
