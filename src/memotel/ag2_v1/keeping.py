"""Persistence: both sides of each turn are handed to the write path, once, under their speakers."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from ag2.context import ConversationContext
from ag2.events import BaseEvent, ModelRequest, ModelResponse
from ag2.middleware.base import AgentTurn, BaseMiddleware

from memotel.ag2_v1.turns import agent_name, open_turn
from memotel.ag2_v1.words import words_of
from memotel.client import MemoryClient
from memotel.memory.guard import Guard
from memotel.memory.scopes import Scopes
from memotel.memory.template import ContextTemplate
from memotel.outcomes import Speaker
from memotel.values import Turn

_IN_A_CHANNEL = "ag2.network.channel"
"""The dependency that AG2 gives a turn whose words come from another member of a network (network/policies.py)."""


class TurnKeeper:
    """Makes the middleware of each turn. Nothing in it waits for a service."""

    def __init__(
        self,
        owner: object,
        client: MemoryClient,
        scopes: Scopes,
        *,
        template: ContextTemplate,
        speakers: frozenset[Speaker],
        source: str,
    ) -> None:
        self.owner = owner
        self.guard = Guard(client)
        self._client = client
        self._scopes = scopes
        self._template = template
        self._speakers = speakers
        self._source = source

    def __call__(self, event: BaseEvent, context: ConversationContext) -> "TurnMiddleware":
        """Return the middleware of one turn."""
        return TurnMiddleware(event, context, self)

    def heard(self, request: ModelRequest, context: ConversationContext) -> None:
        """Keep what an agent was asked; whoever passes a network's messages on is not a person."""
        is_human = _IN_A_CHANNEL not in context.dependencies
        speaker = Speaker.HUMAN if is_human else Speaker.AI
        name = None if is_human else "member"
        with self.guard.keep_writing():
            words = self._template.words_after(words_of(request)).strip()
            self._keep(speaker, words, name=name, observer=f"{agent_name(context)}/received")

    def answered(self, response: ModelResponse, context: ConversationContext) -> None:
        """Keep what an agent answered; results that a tool gave in its place are none."""
        if response.tool_calls or response.response_force:
            return
        with self.guard.keep_writing():
            name = agent_name(context)
            self._keep(
                Speaker.AI, (response.content or "").strip(), name=name, observer=f"{name}/sent"
            )

    def _keep(self, speaker: Speaker, words: str, *, name: str | None, observer: str) -> None:
        if not words or speaker not in self._speakers:
            return
        self._client.write(
            Turn(
                scope=self._scopes.current(),
                speaker=speaker,
                text=words,
                speaker_name=name,
                # AG2 gives requests no id. Each is heard once, so a person who repeats themselves is kept twice.
                message_id=uuid.uuid4().hex,
                observer=observer,
                said_at=datetime.now(UTC).isoformat(),
                source=self._source,
            )
        )


class TurnMiddleware(BaseMiddleware):
    """One turn: keeps its words, unless the agent works as a tool of another turn with memory."""

    def __init__(self, event: BaseEvent, context: ConversationContext, keeper: TurnKeeper) -> None:
        super().__init__(event, context)
        self._keeper = keeper

    async def on_turn(
        self, call_next: AgentTurn, event: BaseEvent, context: ConversationContext
    ) -> ModelResponse:
        """Keep what comes in while the turn runs, and what it ends with."""
        with open_turn(self._keeper.owner, event) as turn:
            if turn is None or turn.is_nested:
                return await call_next(event, context)
            listener = _listener(self._keeper, context)
            with context.stream.where(ModelRequest).sub_scope(listener, interrupt=True):
                response = await call_next(event, context)
            self._keeper.answered(response, context)
            return response


def _listener(keeper: TurnKeeper, context: ConversationContext) -> Callable[[ModelRequest], object]:
    """Return what AG2 calls with each request before it is stored and before the model is asked.

    What is enqueued while the turn runs comes this way too. AG2 drops a request for which nothing is returned.
    """

    async def listen(event: ModelRequest) -> ModelRequest:
        keeper.heard(event, context)
        return event

    return listen
