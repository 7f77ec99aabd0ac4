"""The second attempt of a recall: when it is made, how often, what it costs, and that it never stretches the budget."""

import asyncio

import pytest

from memotel.calls import Answer, Handler
from memotel.config import BreakerPolicy, RetryPolicy
from memotel.counts import Count, Counts
from memotel.deadline import monotonic
from memotel.errors import MemotelError, ServiceUnavailableError, TransportError
from memotel.middleware.retry import retry
from memotel.outcomes import Phase, RetryCause
from memotel.policy.breaker import CircuitBreaker, Verdict
from memotel.policy.retry import TokenBucket

from .conftest import HIT, MakeCall, Scripted

POLICY = RetryPolicy()
LOST = TransportError("reset")
TORN = TransportError("reset", has_response=True)


def invited(retry_after_s: float = 0.0) -> ServiceUnavailableError:
    return ServiceUnavailableError("down", status_code=503, retry_after_s=retry_after_s)


class Desk:
    """A retrying handler over scripted answers."""

    def __init__(self, *answers: Answer | Exception, policy: RetryPolicy = POLICY) -> None:
        self.work = Scripted(*answers)
        self.bucket = TokenBucket(policy)
        self.counts = Counts()
        self.circuit = CircuitBreaker(BreakerPolicy(), lambda: 0.5)
        self.handle: Handler = retry(
            self.work,
            policy=policy,
            bucket=self.bucket,
            circuit=self.circuit,
            counts=self.counts,
        )

    @property
    def attempts(self) -> int:
        return len(self.work.calls)


@pytest.mark.parametrize(
    ("error", "cause", "spent"),
    [(LOST, RetryCause.CONNECTION, 14), (invited(), RetryCause.STATUS, 5)],
    ids=["lost", "invited"],
)
def test_second_attempt_is_made_counted_and_paid_for(
    make_call: MakeCall, error: MemotelError, cause: RetryCause, spent: int
) -> None:
    desk, call = Desk(error, HIT), make_call()

    assert asyncio.run(desk.handle(call)) is HIT

    assert desk.attempts == 2
    assert desk.bucket.tokens == 500 - spent
    assert call.retry_cause is cause
    assert desk.counts.total(Count.RETRIES, "memorysync", "recall", cause) == 1


@pytest.mark.parametrize("error", [LOST, invited()], ids=["lost", "invited"])
def test_there_is_no_third_attempt(make_call: MakeCall, error: MemotelError) -> None:
    desk = Desk(error)

    with pytest.raises(type(error)):
        asyncio.run(desk.handle(make_call()))

    assert desk.attempts == 2


@pytest.mark.parametrize(
    "error", [TORN, invited(60.0), MemotelError("a fault of our own")], ids=str
)
def test_what_cannot_help_is_not_tried(make_call: MakeCall, error: MemotelError) -> None:
    desk = Desk(error)

    with pytest.raises(type(error)):
        asyncio.run(desk.handle(make_call(2.0)))

    assert desk.attempts == 1
    assert desk.bucket.tokens == 500


def test_probe_is_not_repeated(make_call: MakeCall) -> None:
    desk, call = Desk(LOST, HIT), make_call()
    call.is_probe = True

    with pytest.raises(TransportError):
        asyncio.run(desk.handle(call))

    assert desk.attempts == 1


def test_service_is_given_the_wait_that_it_asks_for(make_call: MakeCall) -> None:
    desk, call = Desk(invited(0.05), HIT), make_call()

    async def main() -> float:
        began = monotonic()
        await desk.handle(call)
        return monotonic() - began

    assert asyncio.run(main()) >= 0.05
    assert call.phase is Phase.RETRY


def test_attempt_that_usually_takes_longer_than_is_left_is_not_made(make_call: MakeCall) -> None:
    desk = Desk(LOST)
    desk.circuit.record(desk.circuit.admit(0.0), Verdict.SUCCESS, 0.0, duration_s=9.0)

    with pytest.raises(TransportError):
        asyncio.run(desk.handle(make_call(5.0)))

    assert desk.attempts == 1


def test_empty_bucket_stops_retries_until_successes_fill_it(make_call: MakeCall) -> None:
    policy = RetryPolicy(capacity=20)
    desk = Desk(*[LOST] * 3, HIT, policy=policy)

    def run() -> Answer:
        return asyncio.run(desk.handle(make_call()))

    with pytest.raises(TransportError):
        run()
    assert (desk.attempts, desk.bucket.tokens) == (2, 6)
    with pytest.raises(TransportError):
        run()
    assert (desk.attempts, desk.bucket.tokens) == (3, 6)
    for _ in range(20):
        assert run() is HIT

    assert desk.bucket.tokens == policy.capacity
