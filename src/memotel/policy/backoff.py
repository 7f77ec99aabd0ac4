"""How long a write waits before its next attempt: exponential, with full jitter. Pure."""

from collections.abc import Callable

MAX_DOUBLINGS = 60
"""Beyond this the ceiling has long been reached; it keeps the power of two finite."""


def ceiling_s(attempt: int, initial_s: float, max_s: float) -> float:
    """Return the longest wait after `attempt` (from 1): `initial_s`, doubled each time, at most `max_s`."""
    return min(max_s, initial_s * 2.0 ** min(max(attempt, 1) - 1, MAX_DOUBLINGS))


def backoff_s(attempt: int, initial_s: float, max_s: float, rng: Callable[[], float]) -> float:
    """Return a wait in seconds, uniform from 0 to the ceiling, so that retries of many writes spread out.

    Args:
        attempt: how many attempts have failed, from 1.
        initial_s: ceiling after the first failure.
        max_s: ceiling that no later failure exceeds.
        rng: a number from 0 to 1, as `random.random` gives it.
    """
    return ceiling_s(attempt, initial_s, max_s) * rng()
