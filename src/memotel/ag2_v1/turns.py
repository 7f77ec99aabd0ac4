"""The turns that are open in this thread or task, innermost last, and what memory knows of each."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from ag2.context import ConversationContext
from ag2.events import BaseEvent, ModelRequest
from ag2.utils import AGENT_CONTEXT_DEPENDENCY_KEY

from memotel.values import Scope

_open_turns: ContextVar[tuple["OpenTurn", ...]] = ContextVar("memotel_ag2_v1_turns", default=())


@dataclass(slots=True, eq=False)
class OpenTurn:
    """One turn of one agent, as one memory sees it.

    Attributes:
        owner: the memory.
        event: what began the turn.
        is_nested: whether another turn with memory is open around it: the agent works as somebody's tool.
        scope: whose memory the block is from, once there is one.
        question: the words that the block is for.
        block: what memory had for them, "" for nothing; None before it was asked.
        original: the last request that was shown with a block, as it was without.
        shown: the same with it.
    """

    owner: object
    event: BaseEvent
    is_nested: bool
    scope: Scope | None = None
    question: str = ""
    block: str | None = None
    original: ModelRequest | None = None
    shown: ModelRequest | None = None

    def known_block(self, scope: Scope, question: str) -> str | None:
        """Return what memory had for this question in this turn, or None where it was not asked."""
        return self.block if (self.scope, self.question) == (scope, question) else None


@contextmanager
def open_turn(owner: object, event: BaseEvent) -> Iterator[OpenTurn | None]:
    """Open a turn while the block runs; gives None where `owner` has this very turn open already."""
    around = _open_turns.get()
    if any(turn.owner is owner and turn.event is event for turn in around):
        yield None
        return
    turn = OpenTurn(owner, event, any(other.event is not event for other in around))
    token = _open_turns.set((*around, turn))
    try:
        yield turn
    finally:
        _open_turns.reset(token)


def current_turn(owner: object) -> OpenTurn | None:
    """Return the turn that `owner` has open here, the innermost if several."""
    return next((turn for turn in reversed(_open_turns.get()) if turn.owner is owner), None)


def original_of(request: ModelRequest) -> ModelRequest:
    """Return a request as it was before any memory was shown with it."""
    for turn in reversed(_open_turns.get()):
        if turn.shown is request and turn.original is not None:
            request = turn.original
    return request


def agent_name(context: ConversationContext) -> str | None:
    """Return the name of the agent whose turn it is, where AG2 says it."""
    agent = context.dependencies.get(AGENT_CONTEXT_DEPENDENCY_KEY)
    name = getattr(agent, "name", None)
    return str(name) if name else None
