"""The numbers that a dashboard calls good: objectives, the latency that counts as fast, when a backlog is old."""

from memotel.config import RecallPolicy
from memotel.telemetry import names

RECALLS_ANSWERED = 0.99
RECALLS_FAST = 0.99
WRITES_KEPT = 0.999
FAST_S = 0.3
BUDGET_S = RecallPolicy().budget_s
OUTBOX_OLD_S = 300.0
NEARLY_FULL = 0.8

if FAST_S not in names.RECALL_BOUNDS:
    # Without that bucket the ratio would have no series, and the objective would look met for ever.
    raise ValueError(f"FAST_S must be a bound of {names.RECALL_DURATION.name}, not {FAST_S}")


def percent(share: float) -> str:
    """Return a share as people read it: 0.999 is "99.9 %"."""
    return f"{100 * share:g} %"
