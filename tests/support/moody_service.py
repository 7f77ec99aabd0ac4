"""Everything that a service may answer to a write, and a policy under which the consequences come soon."""

from scripted_service import OVER_QUOTA, STORED, Reply, unavailable

from memotel.config import WritePolicy
from memotel.errors import (
    AuthenticationError,
    BudgetExceededError,
    CircuitOpenError,
    InvalidRequestError,
    QuotaExceededError,
    RateLimitedError,
    ResponseFormatError,
    ShedError,
    TransportError,
)
from memotel.outcomes import Provider, WriteOutcome
from memotel.values import WriteAnswer

PROVIDER = Provider.MEMORYSYNC

REPLIES: dict[str, Reply] = {
    "stored": STORED,
    "duplicate": WriteAnswer(WriteOutcome.DUPLICATE),
    "ignored": WriteAnswer(WriteOutcome.IGNORED),
    "over quota": OVER_QUOTA,
    "strict quota": QuotaExceededError("over", status_code=402),
    "unauthorised": AuthenticationError("no", status_code=401),
    "invalid": InvalidRequestError("no", status_code=422),
    "throttled": RateLimitedError("wait", status_code=429),
    "throttled for 30 s": RateLimitedError("wait", status_code=429, retry_after_s=30),
    "failing": unavailable(500),
    "down for 5 s": unavailable(503, retry_after_s=5),
    "reset": TransportError("reset"),
    "late": BudgetExceededError("late"),
    "garbled": ResponseFormatError("not JSON"),
    "circuit": CircuitOpenError("open"),
    "shed": ShedError("full"),
    "fault of ours": KeyError("oops"),
}

POLICY = WritePolicy(
    max_age_s=600,
    max_parked_age_s=900,
    poison_attempts=3,
    backoff_max_s=20,
    quota_recheck_s=30,
    credentials_recheck_s=20,
)
