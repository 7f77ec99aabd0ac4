"""A context that counts tokens counts the memory blocks too.

AutoGen's `TokenLimitedChatCompletionContext(token_limit=...)` drops messages from its middle until the rest fits. It offers
no public way to say that something else needs room, so its limit (the private `_token_limit` of autogen-core 0.7) is
lowered for the moment in which it counts. A context without that attribute is left alone.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memotel.autogen.compat import ChatCompletionContext, SystemMessage
from memotel.autogen.messages import Block

MOST_SHARE = 0.5
"""A block that would take more than this share of the limit is not shown: the conversation comes first."""


def fitting(context: ChatCompletionContext, blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks that together take at most their share of the context's limit, all where it has none."""
    limit = _limit(context)
    if limit is None:
        return list(blocks)
    kept: list[Block] = []
    for block in blocks:
        if _tokens(context, [*kept, block]) <= limit * MOST_SHARE:
            kept.append(block)
    return kept


@contextmanager
def room_for(context: ChatCompletionContext, blocks: Sequence[Block]) -> Iterator[None]:
    """Have the context leave room for these blocks inside the block."""
    limit = _limit(context)
    if limit is None or not blocks:
        yield
        return
    setattr(context, "_token_limit", limit - _tokens(context, blocks))  # noqa: B010 # no context type has it
    try:
        yield
    finally:
        setattr(context, "_token_limit", limit)  # noqa: B010 # as above


def _limit(context: ChatCompletionContext) -> int | None:
    limit = getattr(context, "_token_limit", None)
    has_counter = hasattr(getattr(context, "_model_client", None), "count_tokens")
    return limit if isinstance(limit, int) and has_counter else None


def _tokens(context: ChatCompletionContext, blocks: Sequence[Block]) -> int:
    client = getattr(context, "_model_client")  # noqa: B009 # no context type has it
    return int(client.count_tokens([SystemMessage(content=block.text) for block in blocks]))
