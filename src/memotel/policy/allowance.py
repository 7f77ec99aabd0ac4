"""What is left of a rate limit, and how much of it writes may use: never the half that recalls need. Pure."""

from dataclasses import dataclass

WRITES_SHARE = 0.5
"""The share of an allowance that writes may use up."""


@dataclass(slots=True)
class Allowance:
    """An account's rate limit as its answers tell it; knows nothing until one does.

    Times are wall-clock seconds, as the service gives them.
    """

    limit: int | None = None
    left: float | None = None
    resets_at: float = 0.0
    in_flight: int = 0

    def observe(self, limit: int | None, left: int | None, resets_at: float | None) -> None:
        """Take what one answer tells; parts that it leaves out stay as they are."""
        if limit is not None:
            self.limit = limit
        if left is not None:
            self.left = float(left)
        if resets_at is not None:
            self.resets_at = resets_at

    def remaining(self, now: float) -> float | None:
        """Return the requests left at `now`, those on their way counted as used; None where nothing is known."""
        if self.left is None:
            return None
        if now >= self.resets_at and self.limit is not None:
            return float(self.limit - self.in_flight)
        return self.left - self.in_flight

    def write_wait_s(self, now: float) -> float:
        """Return for how many seconds writes hold back, so that recalls keep their half; 0 for none."""
        remaining = self.remaining(now)
        if remaining is None or self.limit is None or now >= self.resets_at:
            return 0.0
        keep = self.limit * (1 - WRITES_SHARE)
        return 0.0 if remaining > keep else self.resets_at - now
