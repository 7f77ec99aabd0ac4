"""The same turns through each adapter, on the framework's own agents: a person says a few things, one after the other."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ag2_chats import chat, person
from ag2_model import assistant
from ag2_v1_model import ScriptedConfig
from agent_framework_model import ScriptedClient, agent_of
from autogen_agentchat.agents import AssistantAgent
from scripted_model import ScriptedModel

from ag2 import Agent
from memotel import ag2_v1
from memotel.ag2 import MemorySyncCapability, RekallCapability
from memotel.agent_framework import MemoryContextProvider
from memotel.autogen import MemorySyncMemory, RekallMemory
from memotel.outcomes import Adapter, Provider

USER = "user-ada"
FLUSH_S = 20.0
ANSWER = "Green tea, I think."


@dataclass(frozen=True, slots=True)
class Conversation:
    """Whose agent it is, at which service, and what is said.

    Attributes:
        provider: the service.
        url: where it is.
        key: the key of this conversation alone.
        session: its session.
        said: what the person says, turn by turn; what a turn wrote is delivered before the next one.
        settings: those of the memory: budgets, policies.
    """

    provider: Provider
    url: str
    key: str
    session: str
    said: Sequence[str]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_memorysync(self) -> bool:
        """Whether it is MemorySync's."""
        return self.provider is Provider.MEMORYSYNC


def _with_ag2(talk: Conversation) -> None:
    agent, _ = assistant("planner", *([ANSWER] * len(talk.said)))
    memory: MemorySyncCapability | RekallCapability
    if talk.is_memorysync:
        memory = MemorySyncCapability(
            USER, talk.session, api_key=talk.key, base_url=talk.url, **talk.settings
        )
    else:
        memory = RekallCapability(
            USER, talk.session, api_key=talk.key, api_url=talk.url, **talk.settings
        )
    with memory:
        memory.add_to_agent(agent)
        for words in talk.said:
            chat(person(), agent, words, max_turns=1)
            memory.flush(FLUSH_S)


def _with_ag2_v1(talk: Conversation) -> None:
    memory: ag2_v1.MemorySyncMemory | ag2_v1.RekallMemory
    if talk.is_memorysync:
        memory = ag2_v1.MemorySyncMemory(
            USER, talk.session, api_key=talk.key, base_url=talk.url, **talk.settings
        )
    else:
        memory = ag2_v1.RekallMemory(
            USER, talk.session, api_key=talk.key, api_url=talk.url, **talk.settings
        )
    with memory:
        config = ScriptedConfig(*([ANSWER] * len(talk.said)))
        agent = Agent("planner", config=config, plugins=[memory.plugin()])
        for words in talk.said:
            asyncio.run(agent.ask(words))
            memory.flush(FLUSH_S)


def _with_agent_framework(talk: Conversation) -> None:
    memory = MemoryContextProvider(
        talk.provider.value,
        USER,
        session_id=talk.session,
        api_key=talk.key,
        url=talk.url,
        **talk.settings,
    )
    with memory:
        agent = agent_of(ScriptedClient(*([ANSWER] * len(talk.said))), memory, name="planner")
        for words in talk.said:
            asyncio.run(agent.run(words))
            memory.flush(FLUSH_S)


def _with_autogen(talk: Conversation) -> None:
    asyncio.run(_autogen(talk))


async def _autogen(talk: Conversation) -> None:
    given = {"session_id": talk.session, "capture": "both", **talk.settings}
    memory: MemorySyncMemory | RekallMemory
    if talk.is_memorysync:
        memory = MemorySyncMemory(USER, talk.key, base_url=talk.url, **given)
    else:
        memory = RekallMemory(talk.url, talk.key, **given)
    agent = AssistantAgent("planner", ScriptedModel([ANSWER] * len(talk.said)), memory=[memory])
    for words in talk.said:
        await agent.run(task=words)
        await memory.aflush(FLUSH_S)
    await memory.close()


ADAPTERS: Mapping[Adapter, Callable[[Conversation], None]] = MappingProxyType(
    {
        Adapter.AG2: _with_ag2,
        Adapter.AG2_V1: _with_ag2_v1,
        Adapter.AUTOGEN: _with_autogen,
        Adapter.AGENT_FRAMEWORK: _with_agent_framework,
    }
)
"""How each adapter's agents talk. `Adapter.DIRECT` has none: it is the client itself."""
