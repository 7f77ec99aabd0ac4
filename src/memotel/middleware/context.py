"""What the model will be shown, decided before the outcome is: the user's own, relevant, not the question, bounded.

A recall that brings back nothing but what scores too low is empty. Searches get all of the user's that the service sent.
"""

from dataclasses import replace
from typing import cast

from memotel.calls import Answer, Call, Handler
from memotel.config import RecallPolicy
from memotel.counts import Count, Counts
from memotel.outcomes import Operation, Part
from memotel.policy.hygiene import build_context, relevant
from memotel.values import Memories, Recall


def context(next_handler: Handler, policy: RecallPolicy, counts: Counts) -> Handler:
    """Take out other users' memories; replace the context of a recall by the text to show, empty where none is left.

    Notes a cut in `call.cuts` and counts it.
    """

    async def handle(call: Call) -> Answer:
        answer = await next_handler(call)
        if not isinstance(answer, Memories):
            return answer
        own = own_of(answer, call.scope.user_id)
        if call.operation is not Operation.RECALL:
            return own
        found = relevant(own, policy.min_score, cast("Recall", call.request).prompt)
        shown = build_context(found, policy.max_context_chars)
        if shown.is_cut:
            call.cuts += (Part.CONTEXT,)
            counts.add(Count.TRUNCATED, call.provider, Part.CONTEXT)
        return Memories(found.items, shown.text, found.request_id)

    return handle


def own_of(found: Memories, user_id: str) -> Memories:
    """Return the memories that do not say that they are another user's; all of them where no user is asked for.

    Where something is taken out, the service's ready block goes too, since it shows all.
    """
    if not user_id:
        return found
    kept = tuple(m for m in found.items if m.user_id is None or m.user_id == user_id)
    return found if len(kept) == len(found.items) else replace(found, items=kept, context="")
