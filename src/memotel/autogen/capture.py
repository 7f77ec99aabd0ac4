"""What enters a model context, written to memory once: the other half of a conversation that AutoGen never adds.

AutoGen calls `Memory.add` nowhere. With `capture="user"` or `"both"` a memory listens to the contexts it updates.
Whose words they are follows the message's `source`, not its class: in a team the other agents' replies come as
`UserMessage`s. Tool calls and results, hand-off notices and thoughts are not words and are never written.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Protocol

from memotel.autogen.arguments import Capture, Options
from memotel.autogen.compat import LLMMessage
from memotel.autogen.messages import is_plumbing, text_of
from memotel.outcomes import Speaker
from memotel.values import Receipt, Turn

_log = logging.getLogger("memotel.autogen")

SOURCE = "autogen"
_numbers = count(1)


class Writer(Protocol):
    """What hears of turns: a `MemoryClient`."""

    def write(self, turn: Turn, *, history: Sequence[tuple[Speaker, str]] | None = None) -> Receipt:
        """Accept a turn; never waits for the network."""
        ...


@dataclass(frozen=True, slots=True)
class Voice:
    """Words and whose they are."""

    speaker: Speaker
    name: str
    text: str


class Tee:
    """One memory's ear on one context. A fault in here never reaches the chat."""

    def __init__(self, writer: Writer, options: Options) -> None:
        self._writer = writer
        self._options = options
        self._wanted = WANTED[options.capture]
        self._observer = f"{options.name}:{next(_numbers)}"
        self._history: list[tuple[Speaker, str]] = []
        self._own_names: list[str] = []
        self._is_reply_due = False

    @property
    def own_name(self) -> str | None:
        """The name of the agent whose context this is, once it has spoken."""
        return self._own_names[-1] if self._own_names else None

    def catch_up(self, messages: Sequence[LLMMessage]) -> None:
        """Take over what stood in the context before anybody listened.

        What follows the agent's last reply came in with the turn that is about to be answered, and is written; what
        stands before it was said, and written if at all, in an earlier run.
        """
        fresh = _fresh_from(messages)
        self.replaced(messages[:fresh])
        for message in messages[fresh:]:
            self.heard(message)

    def expect_reply(self) -> None:
        """Take note that the next assistant's message is the agent's own: it is about to answer."""
        self._is_reply_due = True

    def heard(self, message: LLMMessage) -> None:
        """Write what was said, if it is wanted."""
        try:
            self._hear(message)
        except Exception as error:  # noqa: BLE001 # memory must not break the chat that it listens to
            _log.warning("a message was not written to memory: %s", type(error).__name__)

    def replaced(self, messages: Sequence[LLMMessage]) -> None:
        """Take these messages as the conversation so far; none of them is written."""
        voices = [voice for message in messages if (voice := self._voice(message))]
        self._history = [(voice.speaker, voice.text) for voice in voices]

    def _hear(self, message: LLMMessage) -> None:
        self._learn_name(message)
        if not self._wanted:
            return
        voice = self._voice(message)
        if voice is None or self._is_foreign(message):
            return
        self._history.append((voice.speaker, voice.text))
        if voice.speaker in self._wanted:
            self._writer.write(self._turn(voice), history=tuple(self._history))

    def _learn_name(self, message: LLMMessage) -> None:
        if message.type != "AssistantMessage" or not self._is_reply_due:
            return
        self._is_reply_due = False
        if message.source not in self._own_names:
            self._own_names.append(message.source)

    def _is_foreign(self, message: LLMMessage) -> bool:
        """Whether an assistant's message is not the agent's own: a hand-off brings the other agent's thoughts."""
        return message.type == "AssistantMessage" and message.source not in self._own_names

    def _voice(self, message: LLMMessage) -> Voice | None:
        text = text_of(message)
        if not text or is_plumbing(message):
            return None
        if message.type != "UserMessage" and message.type != "AssistantMessage":
            return None
        is_person = message.type == "UserMessage" and message.source in self._options.user_names
        return Voice(Speaker.HUMAN if is_person else Speaker.AI, message.source, text)

    def _turn(self, voice: Voice) -> Turn:
        return Turn(
            scope=self._options.scope,
            speaker=voice.speaker,
            text=voice.text,
            speaker_name=voice.name,
            observer=self._observer,
            said_at=datetime.now(UTC).isoformat(),
            source=SOURCE,
        )


WANTED = {
    Capture.NONE: frozenset[Speaker](),
    Capture.USER: frozenset({Speaker.HUMAN}),
    Capture.BOTH: frozenset({Speaker.HUMAN, Speaker.AI}),
}


def _fresh_from(messages: Sequence[LLMMessage]) -> int:
    """Return where the messages begin that came in after the agent's last reply.

    A reply is an assistant's text whose source is no other speaker's: a hand-off brings assistant messages as well.
    """
    others = {m.source for m in messages if m.type == "UserMessage"}
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.type == "AssistantMessage" and text_of(message) and message.source not in others:
            return at + 1
    return 0
