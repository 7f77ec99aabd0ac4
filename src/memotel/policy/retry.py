"""Whether a recall is worth a second attempt. Pure: the error, the attempt and the time left decide."""

from memotel.config import RetryPolicy
from memotel.errors import MemotelError, ServiceUnavailableError, TransportError
from memotel.outcomes import RetryCause

MAX_ATTEMPTS = 2
_RETRYABLE_STATUSES = frozenset({502, 503, 504})


class TokenBucket:
    """Retries that an account may still spend; each success gives a little back.

    The numbers of the AWS SDKs' standard mode (2026): 500 in all, 14 for a transient failure, 5 for throttling.
    """

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._tokens = policy.capacity

    @property
    def tokens(self) -> int:
        """Tokens left."""
        return self._tokens

    def take(self, cost: int) -> bool:
        """Spend `cost` tokens, or return False and spend none."""
        if self._tokens < cost:
            return False
        self._tokens -= cost
        return True

    def refund(self) -> None:
        """Give back what a success earns."""
        self._tokens = min(self._policy.capacity, self._tokens + self._policy.success_refund)


def cause_of(error: MemotelError) -> RetryCause | None:
    """Return why a second attempt could succeed, or None where it could not or must not be made.

    A connection that died before any byte of the answer; or 502, 503, 504 with a Retry-After.
    """
    if isinstance(error, TransportError):
        return None if error.has_response else RetryCause.CONNECTION
    if isinstance(error, ServiceUnavailableError):
        is_invited = error.status_code in _RETRYABLE_STATUSES and error.retry_after_s is not None
        return RetryCause.STATUS if is_invited else None
    return None


def delay_s(
    error: MemotelError, *, attempt: int, remaining_s: float, typical_s: float, policy: RetryPolicy
) -> float | None:
    """Return the seconds to wait before a second attempt, or None where it cannot help any more."""
    if attempt >= MAX_ATTEMPTS or cause_of(error) is None:
        return None
    wait_s = getattr(error, "retry_after_s", None) or 0.0
    is_worth_it = remaining_s - wait_s >= max(policy.min_remaining_s, typical_s)
    return wait_s if is_worth_it else None


def cost(error: MemotelError, policy: RetryPolicy) -> int:
    """Return what a retry after `error` costs: less where the service itself has named the wait."""
    is_invited = cause_of(error) is RetryCause.STATUS
    return policy.throttling_cost if is_invited else policy.transient_cost
