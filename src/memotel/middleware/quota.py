"""Is this emptiness a quota? Evidence goes in with every answer, the state comes out with every call."""

from memotel.calls import Answer, Call, Handler
from memotel.counts import Count, Counts
from memotel.deadline import monotonic
from memotel.errors import QuotaExceededError
from memotel.outcomes import Operation, QuotaEvidence, QuotaState
from memotel.policy.quota import QuotaMachine
from memotel.values import Memories, WriteAnswer

_WRITES = frozenset({Operation.SAVE, Operation.WRITE})


def quota(next_handler: Handler, machine: QuotaMachine, counts: Counts) -> Handler:
    """Feed the account's quota machine, and mark an empty answer that a quota explains.

    Sets `call.quota`. Counts every call that a quota degraded, strict or silent.
    """

    async def handle(call: Call) -> Answer:
        is_write = call.operation in _WRITES
        try:
            answer = await next_handler(call)
        except QuotaExceededError as error:
            machine.observe(
                QuotaEvidence.STRICT, monotonic(), error.retry_after_s, is_write=is_write
            )
            call.quota = QuotaState.LIMITED
            counts.add(Count.QUOTA_DEGRADED, call.provider, call.operation, "strict")
            raise
        evidence = _evidence(call, answer)
        if evidence is not None:
            machine.observe(evidence, monotonic(), is_write=is_write)
        call.quota = machine.state(monotonic())
        if call.quota is QuotaState.SILENT and _is_degraded(answer):
            counts.add(Count.QUOTA_DEGRADED, call.provider, call.operation, "silent")
        return answer

    return handle


def _evidence(call: Call, answer: Answer) -> QuotaEvidence | None:
    if isinstance(answer, WriteAnswer):
        return answer.evidence
    is_health = not answer.is_empty() and call.operation in (Operation.RECALL, Operation.SEARCH)
    return QuotaEvidence.HEALTHY if is_health else None


def _is_degraded(answer: Answer) -> bool:
    if isinstance(answer, Memories):
        return answer.is_empty()
    return answer.evidence is QuotaEvidence.SILENT
