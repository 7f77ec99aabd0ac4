"""A second attempt, where it can still help inside the budget. The decision is `memotel.policy.retry`."""

import asyncio

from memotel.calls import Answer, Call, Handler
from memotel.config import RetryPolicy
from memotel.counts import Count, Counts
from memotel.errors import MemotelError
from memotel.outcomes import Phase
from memotel.policy.breaker import CircuitBreaker
from memotel.policy.retry import TokenBucket, cause_of, cost, delay_s


def retry(
    next_handler: Handler,
    *,
    policy: RetryPolicy,
    bucket: TokenBucket,
    circuit: CircuitBreaker,
    counts: Counts,
) -> Handler:
    """Try once more after a lost connection or an invited 5xx; a probe is never repeated."""

    async def handle(call: Call) -> Answer:
        try:
            answer = await next_handler(call)
        except MemotelError as error:
            if not await _may_repeat(call, error):
                raise
            return await next_handler(call)
        bucket.refund()
        return answer

    async def _may_repeat(call: Call, error: MemotelError) -> bool:
        wait_s = delay_s(
            error,
            attempt=1,
            remaining_s=call.deadline.remaining_s(),
            typical_s=circuit.typical_latency_s() or 0.0,
            policy=policy,
        )
        if wait_s is None or call.is_probe or not bucket.take(cost(error, policy)):
            return False
        call.phase = Phase.RETRY
        call.retry_cause = cause_of(error)
        counts.add(Count.RETRIES, call.provider, call.operation, str(call.retry_cause))
        if wait_s > 0:
            await asyncio.sleep(wait_s)
        return True

    return handle
