"""What scores too low to be shown, taken away before the outcome is decided: a recall of nothing else is empty."""

from memotel.calls import Answer, Call, Handler
from memotel.outcomes import Operation
from memotel.policy.hygiene import relevant
from memotel.values import Memories


def relevance(next_handler: Handler, min_score: float | None) -> Handler:
    """Filter the memories of a recall; searches get all that the service sent."""

    async def handle(call: Call) -> Answer:
        answer = await next_handler(call)
        if isinstance(answer, Memories) and call.operation is Operation.RECALL:
            return relevant(answer, min_score)
        return answer

    return handle
