"""Persistence: both sides of each run are handed to the write path, each message once."""

import uuid
from datetime import UTC, datetime
from itertools import chain
from weakref import WeakKeyDictionary

from agent_framework import Message, SessionContext

from memotel.agent_framework.words import Utterance, heard, said
from memotel.client import MemoryClient
from memotel.outcomes import Speaker
from memotel.values import Scope, Turn


class Keeper:
    """Writes for one provider. Nothing here waits for a service.

    The framework hands a message on as the same object, to each agent of a workflow and to each run of a loop; so one
    object is one utterance of a user's, however many agents with this memory it is given to.
    """

    def __init__(self, client: MemoryClient, speakers: frozenset[Speaker], source: str) -> None:
        self._client = client
        self._speakers = speakers
        self._source = source
        self._kept: WeakKeyDictionary[Message, frozenset[str]] = WeakKeyDictionary()

    def keep(self, context: SessionContext, scope: Scope, agent: str | None) -> None:
        """Keep what came in, then what the agent answered."""
        answer = context.response.messages if context.response is not None else []
        for utterance in chain(heard(context.input_messages, agent), said(answer, agent)):
            if utterance.speaker in self._speakers and self._is_new(utterance.message, scope):
                self._client.write(self._turn(utterance, scope, agent))

    def _is_new(self, message: Message, scope: Scope) -> bool:
        users = self._kept.get(message, frozenset())
        self._kept[message] = users | {scope.user_id}
        return scope.user_id not in users

    def _turn(self, utterance: Utterance, scope: Scope, agent: str | None) -> Turn:
        return Turn(
            scope=scope,
            speaker=utterance.speaker,
            text=utterance.text,
            speaker_name=utterance.name,
            # Most messages have no id. Each object is taken once, so a person who repeats themselves is kept twice.
            message_id=utterance.message.message_id or uuid.uuid4().hex,
            observer=agent or "",
            said_at=datetime.now(UTC).isoformat(),
            source=self._source,
        )
