"""AutoGen chats that are answered again, resumed in a team, or told to several memories: each utterance is one write."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.model_context import BufferedChatCompletionContext
from scripted_model import ScriptedModel
from talks import deliveries, kept

from memotel.autogen import MemorySyncMemory, RekallMemory
from memotel.devserver import DevServer

FACT = "I keep seven hives of bees behind the house"
NAMES = ("one", "two", "three")
AnyMemory = MemorySyncMemory | RekallMemory
MakeMemory = Callable[[], AnyMemory]


@pytest.fixture(params=["memorysync", "rekall"])
def make_memory(request: pytest.FixtureRequest, memory_server: DevServer) -> MakeMemory:
    """Return a maker of memories of one account, user and session."""

    def make() -> AnyMemory:
        given: dict[str, Any] = {"session_id": "s1", "capture": "both", "recall_timeout": 30.0}
        if request.param == "rekall":
            return RekallMemory(memory_server.url, "rk_1", user_id="ada", **given)
        return MemorySyncMemory("ada", "k", base_url=memory_server.url, **given)

    return make


def once(*texts: str) -> dict[str, int]:
    return dict.fromkeys(texts, 1)


def written(server: DevServer, *memories: AnyMemory) -> dict[str, int]:
    """Flush, then return what the service has; nothing arrived twice."""
    for memory in memories:
        report = memory.flush(30.0)
        assert (report.pending, report.failed) == (0, 0)
    assert kept(server) == deliveries(server)
    return kept(server)


def team(*memories: AnyMemory, lines: list[int]) -> RoundRobinGroupChat:
    """Return three agents, each with its memory of these, that speak once each a run."""
    agents = [
        AssistantAgent(name, ScriptedModel([f"{name} says {n}" for n in lines]), memory=[memory])
        for name, memory in zip(NAMES, memories, strict=True)
    ]
    return RoundRobinGroupChat(list(agents), max_turns=3)


def test_memories_of_one_account_hear_an_utterance_in_a_team_once(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memories = [make_memory() for _ in NAMES]
    asyncio.run(team(*memories, lines=[0]).run(task=FACT))
    expected = once(FACT, *(f"{name} says 0" for name in NAMES))
    assert written(memory_server, *memories) == expected


def test_message_that_is_answered_again_is_one_write_and_each_answer_is_one(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    """Answering again is going back to the state before the answer, and asking the same."""
    memory = make_memory()
    model = ScriptedModel(["How many bees?", "first try", "second try", "third try"])
    agent = AssistantAgent("helper", model, memory=[memory])

    async def talk() -> None:
        await agent.run(task="Let us talk about my bees")
        before = await agent.save_state()
        for _ in range(3):
            await agent.load_state(before)
            await agent.run(task=FACT)

    asyncio.run(talk())
    opening = ("Let us talk about my bees", "How many bees?")
    expected = once(*opening, FACT, "first try", "second try", "third try")
    assert written(memory_server, memory) == expected


def test_team_that_is_resumed_with_agents_made_anew_writes_nothing_again(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory()

    async def talk() -> None:
        first = team(memory, memory, memory, lines=[0])
        await first.run(task=FACT)
        state = await first.save_state()
        second = team(memory, memory, memory, lines=[1])
        await second.load_state(state)
        await second.run(task="There is a lot of honey this year")

    asyncio.run(talk())
    expected = once(
        FACT,
        "There is a lot of honey this year",
        *(f"{name} says {n}" for name in NAMES for n in range(2)),
    )
    assert written(memory_server, memory) == expected


@pytest.mark.parametrize("width", [1, 2, 4])
def test_history_that_is_trimmed_loses_no_repeat(
    make_memory: MakeMemory, memory_server: DevServer, width: int
) -> None:
    memory = make_memory()
    agent = AssistantAgent(
        "helper",
        ScriptedModel([f"Answer number {n}" for n in range(5)]),
        model_context=BufferedChatCompletionContext(width),
        memory=[memory],
    )

    async def talk() -> None:
        for _ in range(5):
            await agent.run(task=FACT)

    asyncio.run(talk())
    expected = {FACT: 5, **once(*(f"Answer number {n}" for n in range(5)))}
    assert written(memory_server, memory) == expected


def test_question_that_the_model_failed_on_is_one_write_when_it_is_asked_of_the_same_history(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory()
    broken = ConnectionError("the model is away")
    agent = AssistantAgent("helper", ScriptedModel([broken, "Noted."]), memory=[memory])

    async def talk() -> None:
        with pytest.raises(ConnectionError):
            await agent.run(task=FACT)
        await agent.run(task=None)

    asyncio.run(talk())
    assert written(memory_server, memory) == once(FACT, "Noted.")
