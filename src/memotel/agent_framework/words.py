"""What the messages of a run say: the text to recall for, and the words that are new, each with its speaker."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_framework import Message

from memotel.outcomes import Speaker


@dataclass(frozen=True, slots=True)
class Utterance:
    """Words that were said in a run, and the message that holds them."""

    message: Message
    speaker: Speaker
    name: str | None
    text: str


def text_of(message: Message) -> str:
    """Return the words of a person's or an agent's message; "" for tool calls, results, reasoning and all else."""
    return message.text.strip() if message.role in ("user", "assistant") else ""


def query_of(messages: Sequence[Message]) -> str:
    """Return the text to recall for: of the last user's message, else of the last message with text, else ""."""
    spoken = [message for message in messages if text_of(message)]
    asked = [message for message in spoken if message.role == "user"]
    last = (asked or spoken)[-1:]
    return text_of(last[0]) if last else ""


def heard(messages: Sequence[Message], agent: str | None) -> Iterator[Utterance]:
    """Yield what came in: the words after the agent's own last reply; what stands before was said in an earlier run.

    A user's message is a person's, unless its author is one who answers as an agent in the same messages.
    """
    agents = {m.author_name for m in messages if m.role == "assistant" and m.author_name}
    for message in messages[_start(messages, agent) :]:
        is_person = message.role == "user" and message.author_name not in agents
        if text := text_of(message):
            speaker = Speaker.HUMAN if is_person else Speaker.AI
            yield Utterance(message, speaker, message.author_name, text)


def said(messages: Sequence[Message], agent: str | None) -> Iterator[Utterance]:
    """Yield what an agent answered."""
    for message in messages:
        if message.role == "assistant" and (text := text_of(message)):
            yield Utterance(message, Speaker.AI, message.author_name or agent, text)


def _start(messages: Sequence[Message], agent: str | None) -> int:
    own = (None, agent)
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "assistant" and message.author_name in own and text_of(message):
            return index + 1
    return 0
