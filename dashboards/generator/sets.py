"""Which outcomes an objective counts, exactly as the service level indicators are defined; how series are kept apart."""

from memotel.outcomes import Outcome, WriteOutcome

_ANSWERED = (Outcome.HIT, Outcome.EMPTY)
_NOT_ASKED = (Outcome.SKIPPED, Outcome.CANCELLED)

ANSWERED = {"outcome": _ANSWERED}
NOT_ASKED = {"outcome": _NOT_ASKED}
HITS = {"outcome": (Outcome.HIT,)}
KEPT = {"outcome": (WriteOutcome.STORED, WriteOutcome.DUPLICATE, WriteOutcome.IGNORED)}
LOST = {
    "outcome": (
        WriteOutcome.QUOTA,
        WriteOutcome.REJECTED,
        WriteOutcome.EXPIRED,
        WriteOutcome.DROPPED,
    )
}
WITHOUT_MEMORY = {"outcome": tuple(o for o in Outcome if o not in (*_ANSWERED, *_NOT_ASKED))}
PER_OUTBOX = ("provider", "instance")
