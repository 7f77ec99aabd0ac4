"""Recall: what memory has for a person's words is shown in front of them, to the model only."""

from ag2.context import ConversationContext
from ag2.events import BaseEvent, ModelRequest

from memotel.ag2_v1.turns import OpenTurn, agent_name, current_turn, original_of
from memotel.ag2_v1.words import question_index, with_block, words_of
from memotel.client import MemoryClient
from memotel.memory.guard import Guard
from memotel.memory.scopes import Scopes
from memotel.memory.template import ContextTemplate


class RecallPolicy:
    """An assembly policy: AG2 asks it before each call of the model, and stores nothing of what it returns.

    Memory is asked once for each question of a turn; calls of the model that go on after tools get the same block.
    """

    name = "memotel_recall"

    def __init__(
        self, owner: object, client: MemoryClient, scopes: Scopes, template: ContextTemplate
    ) -> None:
        self._owner = owner
        self._client = client
        self._scopes = scopes
        self._template = template
        self._guard = Guard(client)

    async def apply(
        self, prompts: list[str], events: list[BaseEvent], context: ConversationContext
    ) -> tuple[list[str], list[BaseEvent]]:
        """Return the prompts as they are, and the events with the block in front of the last words."""
        shown = events
        with self._guard.keep_recalling():
            shown = await self._shown(events, context)
        return prompts, shown

    async def _shown(
        self, events: list[BaseEvent], context: ConversationContext
    ) -> list[BaseEvent]:
        index = question_index(events)
        turn = current_turn(self._owner)
        request = None if index is None else events[index]
        if index is None or turn is None or not isinstance(request, ModelRequest):
            return events
        if request is turn.shown:
            return events
        block = await self._block(turn, words_of(original_of(request)), agent_name(context))
        if not block:
            return events
        turn.original, turn.shown = request, with_block(request, block)
        return [*events[:index], turn.shown, *events[index + 1 :]]

    async def _block(self, turn: OpenTurn, question: str, agent: str | None) -> str:
        scope = self._scopes.current()
        block = turn.known_block(scope, question)
        if block is None:
            result = await self._client.arecall(scope, question, agent=agent)
            block = self._template.render(result.context)
            turn.scope, turn.question, turn.block = scope, question, block
        return block
