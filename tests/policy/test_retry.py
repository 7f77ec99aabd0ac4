"""When a second attempt is made."""

import pytest

from memotel.config import RetryPolicy
from memotel.errors import (
    AuthenticationError,
    BudgetExceededError,
    MemotelError,
    RateLimitedError,
    ServiceUnavailableError,
    TransportError,
)
from memotel.outcomes import RetryCause
from memotel.policy.retry import TokenBucket, cause_of, cost, delay_s

POLICY = RetryPolicy()


def unavailable(status: int, retry_after_s: float | None) -> ServiceUnavailableError:
    return ServiceUnavailableError("failed", status_code=status, retry_after_s=retry_after_s)


def wait_for(error: MemotelError, *, attempt: int = 1, remaining_s: float = 1.0) -> float | None:
    return delay_s(error, attempt=attempt, remaining_s=remaining_s, typical_s=0.02, policy=POLICY)


def test_retry_repeats_at_once_when_no_byte_of_the_answer_came() -> None:
    assert wait_for(TransportError("reset")) == 0.0


def test_retry_never_repeats_after_a_byte_of_the_answer() -> None:
    assert wait_for(TransportError("reset", has_response=True)) is None


@pytest.mark.parametrize("status", [502, 503, 504])
def test_retry_waits_as_the_service_asks_inside_the_budget(status: int) -> None:
    assert wait_for(unavailable(status, 0.5)) == 0.5
    assert wait_for(unavailable(status, 0.95)) is None
    assert wait_for(unavailable(status, None)) is None


@pytest.mark.parametrize(
    "error",
    [
        unavailable(500, 0.1),
        RateLimitedError("slow down", status_code=429, retry_after_s=0.1),
        AuthenticationError("no", status_code=401),
        BudgetExceededError("late"),
        MemotelError("bug"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_retry_leaves_everything_else_alone(error: MemotelError) -> None:
    assert wait_for(error) is None


def test_retry_is_made_once() -> None:
    assert wait_for(TransportError("reset"), attempt=2) is None


def test_retry_is_not_made_when_it_could_not_end_in_time() -> None:
    assert wait_for(TransportError("reset"), remaining_s=0.09) is None


def test_retry_names_its_cause() -> None:
    assert cause_of(TransportError("reset")) is RetryCause.CONNECTION
    assert cause_of(unavailable(503, 1.0)) is RetryCause.STATUS


def test_bucket_runs_dry_and_is_refilled_by_successes() -> None:
    bucket = TokenBucket(RetryPolicy(capacity=20))
    transient = cost(TransportError("reset"), POLICY)

    assert bucket.take(transient)
    assert not bucket.take(transient)
    for _ in range(100):
        bucket.refund()

    assert bucket.tokens == 20
    assert bucket.take(transient)
