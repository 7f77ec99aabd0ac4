"""Hands what was said to the write path: both sides of a chat, each utterance under its speaker's role."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from memotel.ag2.framework import histories, partner_of
from memotel.ag2.hearing import Hearing, Utterance
from memotel.ag2.messages import Message
from memotel.ag2.scopes import Scopes
from memotel.ag2.speakers import is_group_manager
from memotel.ag2.template import ContextTemplate
from memotel.ag2.transcript import News, Transcripts
from memotel.client import MemoryClient
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

    def received(self, agent: object, messages: Sequence[Message]) -> None:
        """Keep what is new to an agent that is about to reply."""
        with self._lock:
            partner = partner_of(agent, messages)
            if partner is None:
                self._keep_direct(agent, messages)
            else:
                self._keep_news(agent, partner, messages, is_replying=True)

    def sent(self, agent: object, partner: object, message: object) -> None:
        """Keep what an agent is about to send. A group manager only relays: nothing is its own."""
        if is_group_manager(agent):
            return
        with self._lock:
            messages = histories(agent).get(partner, [])
            self._keep_news(agent, partner, messages, is_replying=False)
            conversation = self._transcripts.conversation(agent, partner)
            conversation.sent += 1
            hearing = self._hearing(agent, partner)
            utterance = hearing.hear(_as_own(message), is_first=not messages)
            if utterance is not None:
                history = [*conversation.heard, (utterance.speaker, utterance.text)]
                news = News(utterance, history, len(history) - 1, is_answered=False)
                self._keep(agent, news, "sent")

    def sweep(self, agent: object, *, only_known: bool) -> None:
        """Keep what no hook saw: the last message of each conversation.

        `only_known`: leave out conversations of which no hook has seen anything, and those that began anew.
        """
        with self._lock:
            for partner, messages in list(histories(agent).items()):
                conversation = self._transcripts.conversation(agent, partner)
                before = conversation.scope
                found = conversation.advance(messages, self._hearing(agent, partner))
                is_known = before is not None and conversation.scope is before
                if is_known or not only_known:
                    for news in found:
                        self._keep(agent, news, "history", conversation.scope)

    def forget(self, agent: object) -> None:
        """Drop what is known of an agent's conversations."""
        with self._lock:
            self._transcripts.forget(agent)

    def _keep_news(
        self, agent: object, partner: object, messages: Sequence[Message], *, is_replying: bool
    ) -> None:
        """Keep what is new.

        Where the scope changed within a run, only the message that is being answered surely belongs to the new one;
        what stands before it may be another user's, so it goes nowhere.
        """
        conversation = self._transcripts.conversation(agent, partner)
        found = conversation.advance(messages, self._hearing(agent, partner))
        scope = self._scopes.current()
        is_same = conversation.scope in (None, scope)
        for news in found:
            if is_same or (is_replying and news.is_answered):
                self._keep(agent, news, "received")
        conversation.scope = scope

    def _keep_direct(self, agent: object, messages: Sequence[Message]) -> None:
        hearing = self._hearing(agent, None)
        heard = [found for message in messages if (found := hearing.hear(message)) is not None]
        history = [(found.speaker, found.text) for found in heard]
        known = self._transcripts.direct_calls(agent).advance(self._scopes.current(), history)
        for index in range(known, len(heard)):
            self._keep(agent, News(heard[index], history, index, is_answered=True), "received")

    def _keep(self, agent: object, news: News, hook: str, scope: Scope | None = None) -> None:
        utterance = news.utterance
        if not self._kept.keeps(utterance):
            return
        turn = Turn(
            scope=scope or self._scopes.current(),
            speaker=utterance.speaker,
            text=utterance.text,
            speaker_name=utterance.name,
            observer=f"{getattr(agent, 'name', '')}/{hook}",
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
