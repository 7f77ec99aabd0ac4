"""Several people behind one Rekall key: none is ever shown, or finds, what another said through memotel.

Rekall's wire has no field for a user, so the service itself ranks and returns what everybody said.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from ag2_chats import chat, person
from ag2_model import assistant
from ag2_v1_model import ScriptedConfig
from agent_framework_model import ScriptedClient, agent_of
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken
from autogen_core.memory import MemoryContent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from remembering import remember
from scripted_model import ScriptedModel, text_seen

from ag2 import Agent as AG2Agent
from memotel import ag2_v1
from memotel.ag2 import RekallCapability
from memotel.agent_framework import MemoryContextProvider
from memotel.autogen import RekallMemory, create_memory_tools
from memotel.devserver import DevServer
from memotel.memory.surface import MemorySurface
from memotel.memory.tools import memory_tools

QUESTION = "What do I drink every single morning?"
PATIENCE = {"recall_timeout": 30.0, "search_timeout": 30.0, "write_timeout": 30.0}
_keys = count(1)


@dataclass
class Person:
    """One user of an agent, and every way by which words reach memory and come back from it."""

    say: Callable[[str], object]
    save: Callable[[str], object]
    use_tool: Callable[[str], object]
    shown: Callable[[], str]
    found: Callable[[], str]
    found_by_tool: Callable[[], str]

    @property
    def ways_in(self) -> tuple[Callable[[str], object], ...]:
        return (self.say, self.save, self.use_tool)

    @property
    def ways_out(self) -> tuple[Callable[[], str], ...]:
        return (self.shown, self.found, self.found_by_tool)


def through(memory: MemorySurface, run: Callable[[str], str]) -> Person:
    """A person whose memory is a `MemorySurface`; `run` says something to an agent and returns what its model saw."""
    tools = memory_tools(memory)
    return Person(
        say=run,
        save=memory.save,
        use_tool=tools.save_memory,
        shown=lambda: run(QUESTION),
        found=lambda: str(memory.search(QUESTION, limit=50)),
        found_by_tool=lambda: tools.search_memory(QUESTION, 50),
    )


def in_ag2(url: str, key: str, user_id: str) -> Person:
    memory = RekallCapability(user_id, api_url=url, api_key=key, **PATIENCE)

    def run(text: str) -> str:
        agent, model = assistant("helper", "Noted.")
        memory.add_to_agent(agent)
        chat(person(), agent, text, max_turns=1)
        assert memory.flush(20, agent).pending == 0
        return model.shown(0)

    return through(memory, run)


def in_ag2_v1(url: str, key: str, user_id: str) -> Person:
    memory = ag2_v1.RekallMemory(user_id, api_url=url, api_key=key, **PATIENCE)

    def run(text: str) -> str:
        model = ScriptedConfig("Noted.")
        agent = AG2Agent("helper", config=model, plugins=[memory.plugin()])
        asyncio.run(agent.ask(text))
        assert memory.flush(20).pending == 0
        return model.seen[0].text

    return through(memory, run)


def in_agent_framework(url: str, key: str, user_id: str) -> Person:
    memory = MemoryContextProvider("rekall", user_id, url=url, api_key=key, **PATIENCE)

    def run(text: str) -> str:
        client = ScriptedClient("Noted.")
        asyncio.run(agent_of(client, memory).run(text))
        assert memory.flush(20).pending == 0
        return client.seen[0]

    return through(memory, run)


def in_autogen(url: str, key: str, user_id: str) -> Person:
    memory = RekallMemory(url, key, user_id=user_id, capture="both", **PATIENCE)
    search, save = create_memory_tools(memory)

    def call(tool: Any, **arguments: object) -> str:
        return str(asyncio.run(tool.run_json(arguments, CancellationToken())))

    def run(text: str) -> str:
        model = ScriptedModel(["Noted."])
        asyncio.run(AssistantAgent("helper", model, memory=[memory]).run(task=text))
        assert memory.flush(20).pending == 0
        return text_seen(model.seen[0])

    return Person(
        say=run,
        save=lambda text: asyncio.run(
            memory.add(MemoryContent(content=text, mime_type="text/plain"))
        ),
        use_tool=lambda text: call(save, text=text),
        shown=lambda: run(QUESTION),
        found=lambda: str(asyncio.run(memory.query(QUESTION, limit=50))),
        found_by_tool=lambda: call(search, query=QUESTION, limit=50),
    )


MAKERS = [in_ag2, in_ag2_v1, in_autogen, in_agent_framework]
Maker = Callable[[str, str, str], Person]
USER_IDS = st.lists(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
    min_size=2,
    max_size=2,
    unique=True,
).filter(lambda ids: all(i.strip() for i in ids))
"""Two ids that may differ in case, in blanks or in a combining mark alone."""
SAID = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=3)
"""Who speaks, and by which way the words reach memory."""


def fact(who: int, number: int) -> str:
    return f"I, person{who}, drink beverage{number} every single morning"


@pytest.mark.parametrize("make", MAKERS)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(user_ids=USER_IDS, said=SAID)
def test_nobody_meets_the_words_of_another(
    memory_server: DevServer, make: Maker, user_ids: list[str], said: list[tuple[int, int]]
) -> None:
    key = f"rk_{make.__name__}_{next(_keys)}"
    people = [make(memory_server.url, key, user_id) for user_id in user_ids]
    for number, (who, way) in enumerate(said):
        people[who].ways_in[way](fact(who, number))
    for who, asking in enumerate(people):
        other = 1 - who
        for come_back in asking.ways_out:
            assert f"person{other}" not in come_back()


@pytest.mark.parametrize("make", MAKERS)
def test_everybody_meets_own_words_and_those_of_nobody(
    memory_server: DevServer, make: Maker
) -> None:
    key = f"rk_{make.__name__}_own"
    remember(memory_server, "Everybody here can drink tap water every morning", key=key)
    ada = make(memory_server.url, key, "ada")
    ada.save(fact(0, 1))
    for come_back in ada.ways_out:
        answer = come_back()
        assert "beverage1" in answer
        assert "tap water" in answer
