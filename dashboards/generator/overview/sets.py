"""Which outcomes an objective counts, exactly as the service level indicators are defined."""

from memotel.outcomes import Outcome, WriteOutcome

ANSWERED = {"outcome": (Outcome.HIT, Outcome.EMPTY)}
NOT_ASKED = {"outcome": (Outcome.SKIPPED, Outcome.CANCELLED)}
KEPT = {"outcome": (WriteOutcome.STORED, WriteOutcome.DUPLICATE, WriteOutcome.IGNORED)}
PER_OUTBOX = ("provider", "instance")
