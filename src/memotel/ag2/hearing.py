"""From a message in an agent's history to an utterance: who said what, or None for plumbing."""

from collections.abc import Callable
from dataclasses import dataclass

from memotel.ag2.framework import histories
from memotel.ag2.messages import Message, text_of, words_of
from memotel.ag2.speakers import (
    introduction_of,
    is_group_manager,
    member_speaker,
    own_speaker,
    partner_speaker,
)
from memotel.outcomes import Speaker


@dataclass(frozen=True, slots=True)
class Utterance:
    """What somebody said.

    Attributes:
        speaker: whose words they are.
        text: the words.
        name: the speaking agent's name, where known.
        is_own: whether the observing agent said it.
    """

    speaker: Speaker
    text: str
    name: str | None
    is_own: bool


@dataclass(frozen=True, slots=True)
class Hearing:
    """How one agent hears its conversation with `partner` (None: a program calls the agent directly)."""

    agent: object
    partner: object | None
    strip_memory: Callable[[str], str]

    def hear(self, message: Message, *, is_first: bool = False) -> Utterance | None:
        """Return the utterance in a message of the agent's history, or None where it is plumbing."""
        if self._is_introduction(message):
            return None
        text = self.strip_memory(words_of(message, is_first=is_first)).strip()
        is_own = message.get("role") == "assistant"
        if not text or (is_first and self._is_relayed(text, is_own=is_own)):
            return None
        speaker = own_speaker(self.agent) if is_own else self._other_speaker(message)
        return Utterance(speaker, text, self._name(message, is_own=is_own), is_own)

    def _other_speaker(self, message: Message) -> Speaker:
        if is_group_manager(self.partner):
            return member_speaker(self.partner, message.get("name"))
        return partner_speaker(self.partner)

    def _is_relayed(self, text: str, *, is_own: bool) -> bool:
        """Whether a chat opens with words that its opener was sent elsewhere: a nested chat passing a question on."""
        opener, other = (self.agent, self.partner) if is_own else (self.partner, self.agent)
        if is_group_manager(opener):
            return False
        elsewhere = [h[-1] for who, h in list(histories(opener).items()) if h and who is not other]
        return any(m.get("role") == "user" and words_of(m) == text for m in elsewhere)

    def _name(self, message: Message, *, is_own: bool) -> str | None:
        speaker = self.agent if is_own else self.partner
        name = message.get("name") or getattr(speaker, "name", None)
        return str(name) if name else None

    def _is_introduction(self, message: Message) -> bool:
        opening = introduction_of(self.partner)
        return bool(opening) and text_of(message).startswith(opening)
