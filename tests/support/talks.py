"""One agent with a memory, in either framework over either service: what is said to it, and what the service then has."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from ag2_chats import chat, person
from ag2_model import assistant
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken
from scripted_model import ScriptedModel

from memotel.ag2 import MemorySyncCapability, RekallCapability
from memotel.autogen import MemorySyncMemory, RekallMemory
from memotel.devserver import DevServer
from memotel.values import FlushReport
from memotel.writes.books import Totals

KEY = "rk_talks"
REPLY = "I shall remember that, thank you."
PATIENCE_S = 30.0


AnyMemory = MemorySyncCapability | RekallCapability | MemorySyncMemory | RekallMemory


class Talk(Protocol):
    """A person and an agent that remembers."""

    @property
    def memory(self) -> AnyMemory:
        """What the agent remembers with."""
        ...

    def say(self, text: str, *, is_new_chat: bool = False) -> None:
        """Say something, and have the agent answer with `REPLY`, or with what it was told to say."""
        ...

    def flush(self, timeout: float = PATIENCE_S) -> FlushReport:
        """Wait for the writes; the last message of the chat is among them."""
        ...

    def close(self, timeout: float = 1.0) -> None:
        """Deliver and release."""
        ...

    def books(self) -> Totals:
        """Return the account's books."""
        ...


class AG2Talk:
    """A person who talks to a `ConversableAgent`."""

    def __init__(
        self, memory: MemorySyncCapability | RekallCapability, answers: Sequence[str]
    ) -> None:
        self.memory = memory
        self.agent, _ = assistant("helper", *answers)
        self.person = person()
        memory.add_to_agent(self.agent)

    def say(self, text: str, *, is_new_chat: bool = False) -> None:
        chat(self.person, self.agent, text, max_turns=1, clear_history=is_new_chat)

    def flush(self, timeout: float = PATIENCE_S) -> FlushReport:
        return self.memory.flush(timeout)

    def close(self, timeout: float = 1.0) -> None:
        self.memory.close(timeout)

    def books(self) -> Totals:
        return self.memory.stats().totals


class AutoGenTalk:
    """A person who talks to an `AssistantAgent`."""

    def __init__(self, memory: MemorySyncMemory | RekallMemory, answers: Sequence[str]) -> None:
        self.memory = memory
        self.agent = AssistantAgent("helper", ScriptedModel(answers), memory=[memory])

    def say(self, text: str, *, is_new_chat: bool = False) -> None:
        async def turn() -> None:
            if is_new_chat:
                await self.agent.on_reset(CancellationToken())
            await self.agent.run(task=text)

        asyncio.run(turn())

    def flush(self, timeout: float = PATIENCE_S) -> FlushReport:
        return self.memory.flush(timeout)

    def close(self, timeout: float = 1.0) -> None:
        asyncio.run(self.memory.client.aclose(timeout))

    def books(self) -> Totals:
        return self.memory.client.stats().totals


def _settings(given: dict[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
    settings = {
        "user_id": "ada",
        "session_id": "monday",
        "api_key": KEY,
        "recall_timeout": PATIENCE_S,
        "write_timeout": PATIENCE_S,
        **given,
    }
    return settings, settings.pop("answers", [REPLY] * 10)


def ag2_memorysync(url: str, **given: Any) -> AG2Talk:
    """Talk to an AG2 agent whose memory is in MemorySync."""
    settings, answers = _settings(given)
    return AG2Talk(MemorySyncCapability(base_url=url, **settings), answers)


def ag2_rekall(url: str, **given: Any) -> AG2Talk:
    """Talk to an AG2 agent whose memory is in Rekall."""
    settings, answers = _settings(given)
    return AG2Talk(RekallCapability(api_url=url, **settings), answers)


def autogen_memorysync(url: str, **given: Any) -> AutoGenTalk:
    """Talk to an AutoGen agent whose memory is in MemorySync."""
    settings, answers = _settings({"capture": "both", **given})
    return AutoGenTalk(MemorySyncMemory(base_url=url, **settings), answers)


def autogen_rekall(url: str, **given: Any) -> AutoGenTalk:
    """Talk to an AutoGen agent whose memory is in Rekall."""
    settings, answers = _settings({"capture": "both", **given})
    return AutoGenTalk(RekallMemory(api_url=url, **settings), answers)


MakeTalk = Callable[..., Talk]
StartTalk = Callable[..., Talk]


@contextmanager
def starting(
    make: MakeTalk, server: DevServer, close_s: float = 0.0, **usual: object
) -> Iterator[StartTalk]:
    """Give what starts a talk, from settings that are `usual` unless others are given.

    Each is closed at the end, within `close_s` seconds.
    """
    started: list[Talk] = []

    def start(**settings: object) -> Talk:
        started.append(make(server.url, **{**usual, **settings}))
        return started[-1]

    yield start
    for one in started:
        one.close(close_s)


TALKS: dict[str, MakeTalk] = {
    make.__name__: make for make in (ag2_memorysync, ag2_rekall, autogen_memorysync, autogen_rekall)
}


def words(text: str) -> str:
    """Return what was said, without the role that MemorySync has in front."""
    return text.removeprefix("human: ").removeprefix("ai: ")


def kept(server: DevServer) -> Counter[str]:
    """How many items of each text the service has, whether it makes a memory of them or not."""
    return Counter(words(item.text) for item in server.items(fate=None))


def deliveries(server: DevServer) -> Counter[str]:
    """How often each text arrived, replays too."""
    found: Counter[str] = Counter()
    for item in server.items(fate=None):
        found[words(item.text)] += item.deliveries
    return found
