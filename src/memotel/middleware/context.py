"""What the model will be shown, decided before the outcome is: relevant memories, not the question, clean, bounded.

A recall that brings back nothing but what scores too low is empty. Searches get all that the service sent.
"""

from typing import cast

from memotel.calls import Answer, Call, Handler
from memotel.config import RecallPolicy
from memotel.counts import Count, Counts
from memotel.outcomes import Operation, Part
from memotel.policy.hygiene import build_context, relevant
from memotel.values import Memories, Recall


def context(next_handler: Handler, policy: RecallPolicy, counts: Counts) -> Handler:
    """Replace the service's context of a recall by the text to show, empty where nothing is left to show.

    Notes a cut in `call.cuts` and counts it.
    """

    async def handle(call: Call) -> Answer:
        answer = await next_handler(call)
        if not isinstance(answer, Memories) or call.operation is not Operation.RECALL:
            return answer
        found = relevant(answer, policy.min_score, cast("Recall", call.request).prompt)
        shown = build_context(found, policy.max_context_chars)
        if shown.is_cut:
            call.cuts += (Part.CONTEXT,)
            counts.add(Count.TRUNCATED, call.provider, Part.CONTEXT)
        return Memories(found.items, shown.text, found.request_id)

    return handle
