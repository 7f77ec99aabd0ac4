"""What is left of a rate limit, and how much of it writes may use: never the half that recalls need. Pure."""

from dataclasses import dataclass

WRITES_SHARE = 0.5
"""The share of an allowance that writes may use up."""

LOOK_AGAIN_S = 0.25
"""How soon writes look again where nobody can say when there will be more."""


@dataclass(slots=True)
class Allowance:
    """An account's rate limit as its answers tell it; knows nothing until one does.

    Times are wall-clock seconds of this machine. `in_flight` counts requests on their way, `writes_in_flight` those of
    them that deliver writes.
    """

    limit: int | None = None
    left: float | None = None
    resets_at: float = 0.0
    in_flight: int = 0
    writes_in_flight: int = 0

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

    def write_wait_s(self, now: float, writes: int = 0) -> float:
        """Return for how many seconds one more write holds back, so that recalls keep their half; 0 for none.

        `writes`: how many are being delivered, those included that have not come to send their request yet. When the
        allowance should be whole again one write goes ahead, and the rest when its answer has said that it is.
        """
        remaining = self.remaining(now)
        if remaining is None or self.limit is None:
            return 0.0
        if now >= self.resets_at:
            return LOOK_AGAIN_S if writes else 0.0
        starting = max(0, writes - self.writes_in_flight)
        keep = self.limit * (1 - WRITES_SHARE)
        return 0.0 if remaining - starting > keep else self.resets_at - now
