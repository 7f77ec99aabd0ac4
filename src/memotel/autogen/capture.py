"""What enters a model context, written to memory once: the other half of a conversation that AutoGen never adds.

AutoGen calls `Memory.add` nowhere. With `capture="user"` or `"both"` a memory listens to the contexts it updates.
Whose words they are follows the message's `source`, not its class: in a team the other agents' replies come as
`UserMessage`s. Tool calls and results, hand-off notices and thoughts are not words and are never written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Protocol

from memotel.autogen.arguments import Capture, Options
from memotel.autogen.compat import LLMMessage
from memotel.autogen.messages import is_plumbing, text_of
from memotel.notices import Event, Notices, fault_of
from memotel.outcomes import Speaker
from memotel.values import Receipt, Turn

SOURCE = "autogen"
_numbers = count(1)


class Writer(Protocol):
    """What hears of turns: a `MemoryClient`."""

    @property
    def notices(self) -> Notices:
        """What says faults in the log."""
        ...

    def write(
        self,
        turn: Turn,
        *,
        history: Sequence[tuple[Speaker, str]] | None = None,
        at: int | None = None,
    ) -> Receipt:
        """Accept a turn, the line `at` of the history; never waits for the network."""
        ...


@dataclass(frozen=True, slots=True)
class Voice:
    """Words, whose they are, and when they were heard (ISO 8601)."""

    speaker: Speaker
    name: str
    text: str
    said_at: str


class Tee:
    """One memory's ear on one context. A fault in here never reaches the chat.

    What came in for the turn that is about to be answered is held until `release`: it is written after the recall, which
    would else find the question in memory as soon as it is asked.
    """

    def __init__(
        self,
        writer: Writer,
        options: Options,
        history: Sequence[tuple[Speaker, str]] = (),
        own_names: Sequence[str] = (),
    ) -> None:
        self._writer = writer
        self._options = options
        self._wanted = WANTED[options.capture]
        self._observer = f"{options.name}:{next(_numbers)}"
        self._history = list(history)
        self._held: list[Voice] = []
        self._own_names = list(own_names)
        self._is_reply_due = False

    def __deepcopy__(self, memo: object) -> "Tee":
        """Return an ear for a copied context: it has heard the same, and writes to the same memory."""
        return Tee(self._writer, self._options, self._history, self._own_names)

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

    def heard(self, message: LLMMessage) -> None:
        """Note what was said: an incoming message is held, the agent's own is written with what is held."""
        if message.type == "AssistantMessage":
            self._learn_name(message.source)
        voice = self._voice(message)
        if voice is None or not self._wanted or self._is_foreign(message):
            return
        self._held.append(voice)
        if message.type == "AssistantMessage":
            self.release()

    def release(self) -> None:
        """Write what is held; whatever goes wrong is logged and passed over."""
        held, self._held = self._held, []
        start = len(self._history)
        self._history += [(voice.speaker, voice.text) for voice in held]
        for at, voice in enumerate(held, start):
            if voice.speaker in self._wanted:
                self._write(voice, at)

    def expect_reply(self) -> None:
        """Take note that the next assistant's message is the agent's own: it is about to answer."""
        self._is_reply_due = True

    def replaced(self, messages: Sequence[LLMMessage]) -> None:
        """Take these messages as the conversation so far; none of them is written.

        A cleared context takes nothing back: what is said next follows what was said before, so that the same words
        said again are a genuine repeat.
        """
        self.release()
        if messages:
            voices = [voice for message in messages if (voice := self._voice(message))]
            self._history = [(voice.speaker, voice.text) for voice in voices]

    def _write(self, voice: Voice, at: int) -> None:
        turn = Turn(
            scope=self._options.scope,
            speaker=voice.speaker,
            text=voice.text,
            speaker_name=voice.name,
            observer=self._observer,
            said_at=voice.said_at,
            source=SOURCE,
        )
        try:
            self._writer.write(turn, history=tuple(self._history), at=at)
        except Exception as error:  # noqa: BLE001 # memory must not break the chat that it listens to
            self.failed(error)

    def failed(self, error: Exception) -> None:
        """Say that a message was not written to memory; never its words."""
        said = f"a message was not written to memory ({fault_of(error)})"
        self._writer.notices.say(Event.HOOK_WRITE_FAILED, said)

    def _learn_name(self, source: str) -> None:
        if self._is_reply_due and source not in self._own_names:
            self._own_names.append(source)
        self._is_reply_due = False

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
        speaker = Speaker.HUMAN if is_person else Speaker.AI
        return Voice(speaker, message.source, text, datetime.now(UTC).isoformat())


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
