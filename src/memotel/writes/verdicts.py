"""What one send says about its write: ended, to be sent again, to be parked, or the account must pause. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from memotel.errors import (
    AuthenticationError,
    BudgetExceededError,
    CircuitOpenError,
    InvalidRequestError,
    MemotelError,
    QuotaExceededError,
    RateLimitedError,
    ResponseFormatError,
    ServiceError,
    ServiceUnavailableError,
    TransportError,
)
from memotel.outcomes import QuotaEvidence, RetryCause, WriteOutcome
from memotel.values import WriteAnswer
from memotel.writes.outbox import WithdrawnError

FIRST_SERVER_FAULT = 500


class Fate(StrEnum):
    """What happens to the write now."""

    ENDED = "ended"
    RETRY = "retry"
    PARKED = "parked"
    CREDENTIALS = "credentials"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one send says.

    Attributes:
        fate: what happens to the write now.
        outcome: the terminal outcome where it ended.
        cause: why it is sent again, where it is.
        retry_after_s: how long the service asks the whole account to wait, if it does.
        is_server_fault: the service failed on this write itself: eight of these may make it poison.
        is_throttled: a 429, the one answer that lowers how many are in flight.
        is_healthy: the answer proves that the plan works.
    """

    fate: Fate
    outcome: WriteOutcome | None = None
    cause: RetryCause | None = None
    retry_after_s: float | None = None
    is_server_fault: bool = False
    is_throttled: bool = False
    is_healthy: bool = False


def judge_answer(answer: WriteAnswer) -> Verdict:
    """Return what an answer says: `QUOTA` parks, every other outcome ends the write."""
    if answer.outcome is WriteOutcome.QUOTA:
        return Verdict(Fate.PARKED)
    is_healthy = answer.outcome is WriteOutcome.STORED or answer.evidence is QuotaEvidence.HEALTHY
    return Verdict(Fate.ENDED, outcome=answer.outcome, is_healthy=is_healthy)


def judge_error(error: Exception) -> Verdict:
    """Return what an error says. Whatever is not known to be final is sent again."""
    match error:
        case QuotaExceededError():
            return Verdict(Fate.PARKED)
        case AuthenticationError():
            return Verdict(Fate.CREDENTIALS)
        case InvalidRequestError():
            return Verdict(Fate.ENDED, outcome=WriteOutcome.REJECTED)
        case CircuitOpenError() | WithdrawnError():
            return Verdict(Fate.HELD)
        case _:
            return _again(error)


def _again(error: Exception) -> Verdict:
    retry_after_s = error.retry_after_s if isinstance(error, ServiceError) else None
    return Verdict(
        Fate.RETRY,
        cause=_cause(error),
        retry_after_s=retry_after_s,
        is_server_fault=_is_server_fault(error),
        is_throttled=isinstance(error, RateLimitedError),
    )


def _cause(error: Exception) -> RetryCause:
    match error:
        case RateLimitedError():
            return RetryCause.RATE_LIMIT
        case BudgetExceededError():
            return RetryCause.TIMEOUT
        case TransportError():
            return RetryCause.CONNECTION
        case _:
            return RetryCause.STATUS


def _is_server_fault(error: Exception) -> bool:
    """A 5xx, an answer that cannot be read, or a fault of our own: it may be this write, or everything."""
    if isinstance(error, ServiceUnavailableError):
        return error.status_code >= FIRST_SERVER_FAULT
    return isinstance(error, ResponseFormatError) or not isinstance(error, MemotelError)
