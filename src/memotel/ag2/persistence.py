"""Hands what was said to the write path: both sides of a chat, each utterance under its speaker's role."""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from memotel.ag2.framework import histories, partner_of
from memotel.ag2.hearing import Hearing, Utterance
from memotel.ag2.messages import Message
from memotel.ag2.speakers import is_group_manager
from memotel.ag2.transcript import News, Transcripts
from memotel.client import MemoryClient
from memotel.memory.scopes import Scopes
from memotel.memory.template import ContextTemplate
from memotel.outcomes import Speaker
from memotel.values import Scope, Turn


@dataclass(frozen=True, slots=True)
class KeptTurns:
    """Which turns are kept: seen by which hooks, and whose words."""

    received: bool = True
    sent: bool = True
    speakers: frozenset[Speaker] = frozenset({Speaker.HUMAN, Speaker.AI})

    def keeps(self, utterance: Utterance) -> bool:
        """Whether this utterance is to be kept."""
        is_captured = self.sent if utterance.is_own else self.received
        return is_captured and utterance.speaker in self.speakers


class Persistence:
    """Writes for one capability. Nothing here waits for a service; thread-safe."""

    def __init__(
        self,
        client: MemoryClient,
        scopes: Scopes,
        template: ContextTemplate,
        *,
        kept: KeptTurns,
        source: str,
    ) -> None:
        self._client = client
        self._scopes = scopes
        self._template = template
        self._kept = kept
        self._source = source
        self._transcripts = Transcripts()
        self._lock = threading.RLock()
        self._pid = os.getpid()

    def received(self, agent: object, messages: Sequence[Message]) -> None:
        """Keep what is new to an agent that is about to reply."""
        with self._alone():
            partner = partner_of(agent, messages)
            if partner is None:
                self._keep_direct(agent, messages)
            else:
                self._keep_current(agent, partner, self._news(agent, partner))

    def sent(self, agent: object, partner: object, message: object) -> None:
        """Keep what an agent is about to send. A group manager only relays: nothing is its own.

        A message that carries a name is one of a stored history that is sent again, to resume a chat. It is taken in
        with what follows it, when it can be told from the same words in a new chat.
        """
        is_stored_form = isinstance(message, Mapping) and "name" in message
        if is_group_manager(agent) or is_stored_form:
            return
        with self._alone():
            found = [replace(news, is_current=False) for news in self._news(agent, partner)]
            is_first = not histories(agent).get(partner)
            own = self._hearing(agent, partner).hear(_as_own(message), is_first=is_first)
            conversation = self._transcripts.conversation(agent, partner)
            conversation.sent += 1
            if own is not None:
                history = [*conversation.heard, (own.speaker, own.text)]
                found = [replace(news, history=history) for news in found]
                found.append(News(own, history, len(history) - 1, is_current=True))
            self._keep_current(agent, partner, found)

    def sweep(self, agent: object, *, only_known: bool) -> None:
        """Keep what no hook saw: the last message of each conversation.

        `only_known`: leave out conversations of which no hook has seen anything, and those that began anew.
        """
        with self._alone():
            for partner in list(histories(agent)):
                conversation = self._transcripts.conversation(agent, partner)
                before = conversation.scope
                found = self._news(agent, partner)
                is_known = before is not None and conversation.scope is before
                if is_known or not only_known:
                    for news in found:
                        self._keep(agent, news, conversation.scope or self._scopes.current())

    def forget(self, agent: object) -> None:
        """Drop what is known of an agent's conversations."""
        with self._alone():
            self._transcripts.forget(agent)

    def _alone(self) -> threading.RLock:
        """Return the lock; in a forked child a new one, as nobody is left there to release the old one."""
        if self._pid != os.getpid():
            self._lock, self._pid = threading.RLock(), os.getpid()
        return self._lock

    def _news(self, agent: object, partner: object) -> list[News]:
        conversation = self._transcripts.conversation(agent, partner)
        messages = histories(agent).get(partner, [])
        return conversation.advance(messages, self._hearing(agent, partner))

    def _keep_current(self, agent: object, partner: object, found: Sequence[News]) -> None:
        """Keep news in the scope that holds here and now.

        Where the scope changed within a run, only what is current surely belongs to the new one; what stands before it
        may be another user's, so it goes nowhere.
        """
        conversation = self._transcripts.conversation(agent, partner)
        scope = self._scopes.current()
        is_same = conversation.scope in (None, scope)
        for news in found:
            if is_same or news.is_current:
                self._keep(agent, news, scope)
        conversation.scope = scope

    def _keep_direct(self, agent: object, messages: Sequence[Message]) -> None:
        hearing = self._hearing(agent, None)
        heard = [found for message in messages if (found := hearing.hear(message)) is not None]
        history = [(found.speaker, found.text) for found in heard]
        scope = self._scopes.current()
        known = self._transcripts.direct_calls(agent).advance(scope, history)
        for index in range(known, len(heard)):
            self._keep(agent, News(heard[index], history, index, is_current=True), scope)

    def _keep(self, agent: object, news: News, scope: Scope) -> None:
        utterance = news.utterance
        if not self._kept.keeps(utterance):
            return
        side = "sent" if utterance.is_own else "received"
        turn = Turn(
            scope=scope,
            speaker=utterance.speaker,
            text=utterance.text,
            speaker_name=utterance.name,
            observer=f"{getattr(agent, 'name', '')}/{side}",
            said_at=datetime.now(UTC).isoformat(),
            source=self._source,
        )
        self._client.write(turn, history=news.history, at=news.at)

    def _hearing(self, agent: object, partner: object | None) -> Hearing:
        return Hearing(agent, partner, self._template.words_after)


def _as_own(message: object) -> Message:
    """Return a message that is being sent as it will stand in its sender's history."""
    fields = dict(message) if isinstance(message, Mapping) else {"content": message}
    if fields.get("role") not in ("tool", "function"):
        fields["role"] = "assistant"
    return fields
