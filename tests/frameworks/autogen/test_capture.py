"""Both sides of a conversation in memory, each utterance once, whoever saw it and however often."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable

import pytest
from autogen_agentchat.agents import AssistantAgent, UserProxyAgent
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from autogen_core import CancellationToken
from autogen_core.model_context import BufferedChatCompletionContext
from blocks import FACT, QUESTION, TAG
from scripted_model import ScriptedModel, call

from memotel.autogen import RekallMemory
from memotel.devserver import DevServer, Item

MakeMemory = Callable[..., RekallMemory]
REPLY = "She drinks green tea."


def kept(server: DevServer) -> list[Item]:
    """What was written by a memory, not by the fixture; each exactly once on the wire."""
    items = [item for item in server.items() if '"origin": "test"' not in item.metadata]
    assert [item.deliveries for item in items] == [1] * len(items)
    assert not any(TAG in item.text for item in items)
    return items


def said(server: DevServer) -> Counter[tuple[str, str]]:
    """Who said what, as it is stored."""
    return Counter((json.loads(item.metadata)["role"], item.text) for item in kept(server))


def run(
    agent: AssistantAgent | RoundRobinGroupChat | Swarm, memory: RekallMemory, *tasks: str
) -> None:
    async def talk() -> None:
        for task in tasks:
            await agent.run(task=task)
        report = await memory.aflush(20)
        assert (report.pending, report.failed) == (0, 0)

    asyncio.run(talk())


def test_nothing_is_captured_unless_asked(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory()
    run(AssistantAgent("a", ScriptedModel([REPLY]), memory=[memory]), memory, QUESTION)
    assert kept(memory_server) == []


def test_both_sides_are_kept_once_with_their_roles(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory(capture="both", session_id="s1")
    run(AssistantAgent("tea_expert", ScriptedModel([REPLY]), memory=[memory]), memory, QUESTION)
    assert said(memory_server) == {("user", QUESTION): 1, ("assistant", REPLY): 1}
    reply = json.loads(kept(memory_server)[-1].metadata)
    assert (reply["speaker"], reply["session_id"]) == ("tea_expert", "s1")
    assert reply["source"] == "autogen"


def test_user_capture_keeps_a_persons_words_only(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory(capture="user")
    run(AssistantAgent("a", ScriptedModel([REPLY]), memory=[memory]), memory, QUESTION)
    assert said(memory_server) == {("user", QUESTION): 1}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("is_stream", [False, True])
def test_tool_traffic_and_thoughts_are_not_kept_and_the_final_reply_is(
    make_memory: MakeMemory, memory_server: DevServer, *, is_stream: bool
) -> None:
    memory = make_memory(capture="both")
    model = ScriptedModel([[call("add", '{"a": 1, "b": 2}')], "It is three."], thought="hmm")
    agent = AssistantAgent(
        "a",
        model,
        tools=[add],
        reflect_on_tool_use=True,
        memory=[memory],
        model_client_stream=is_stream,
    )
    run(agent, memory, "What is one plus two?")
    expected = {("user", "What is one plus two?"): 1, ("assistant", "It is three."): 1}
    assert said(memory_server) == expected


def test_team_on_one_memory_keeps_each_utterance_once(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory(capture="both")
    agents = [
        AssistantAgent("one", ScriptedModel(["It may be tea.", "Surely tea."]), memory=[memory]),
        AssistantAgent("two", ScriptedModel(["Green tea, I think."]), memory=[memory]),
        AssistantAgent("three", ScriptedModel(["I agree with two."]), memory=[memory]),
    ]
    team = RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(5))
    run(team, memory, QUESTION)
    assert said(memory_server) == {
        ("user", QUESTION): 1,
        ("assistant", "It may be tea."): 1,
        ("assistant", "Green tea, I think."): 1,
        ("assistant", "I agree with two."): 1,
        ("assistant", "Surely tea."): 1,
    }


def test_role_follows_the_source_in_a_team(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory(capture="user")
    agents = [
        AssistantAgent("one", ScriptedModel(["What do you drink, two?"])),
        AssistantAgent("two", ScriptedModel(["Green tea, always."]), memory=[memory]),
    ]
    run(RoundRobinGroupChat(agents, max_turns=2), memory, QUESTION)
    assert said(memory_server) == {("user", QUESTION): 1}


def test_named_people_are_people(make_memory: MakeMemory, memory_server: DevServer) -> None:
    memory = make_memory(capture="user", user_names=["ada"])
    agent = AssistantAgent("a", ScriptedModel(), memory=[memory])

    async def talk() -> None:
        messages = [
            TextMessage(content="I drink green tea.", source="ada"),
            TextMessage(content="I am a machine.", source="user"),
        ]
        await agent.on_messages(messages, CancellationToken())
        await memory.aflush(20)

    asyncio.run(talk())
    assert said(memory_server) == {("user", "I drink green tea."): 1}


def test_user_proxy_in_a_team_speaks_for_a_person(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory(capture="both")
    helper = AssistantAgent("helper", ScriptedModel(["How many hives?", "Noted."]), memory=[memory])
    proxy = UserProxyAgent("user_proxy", input_func=lambda _: "I have seven hives.")
    run(RoundRobinGroupChat([helper, proxy], max_turns=3), memory, "I keep bees.")
    assert said(memory_server) == {
        ("user", "I keep bees."): 1,
        ("assistant", "How many hives?"): 1,
        ("user", "I have seven hives."): 1,
        ("assistant", "Noted."): 1,
    }


def test_hand_offs_and_the_thoughts_they_bring_are_not_kept(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory(capture="both")
    one = ScriptedModel([[call("transfer_to_two")]], thought="two knows better")
    two = ScriptedModel(["Green tea. TERMINATE"], thought="tea then")
    agents = [
        AssistantAgent("one", one, handoffs=["two"], memory=[memory]),
        AssistantAgent("two", two, memory=[memory]),
    ]
    run(Swarm(agents, termination_condition=TextMentionTermination("TERMINATE")), memory, QUESTION)
    assert said(memory_server) == {
        ("user", QUESTION): 1,
        ("assistant", "Green tea. TERMINATE"): 1,
    }


def test_state_loaded_into_a_fresh_agent_writes_nothing_twice(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory(capture="both")
    first = AssistantAgent("a", ScriptedModel(["One.", "Two."]), memory=[memory])
    run(first, memory, "I drink green tea.", "I keep bees.")
    second = AssistantAgent("a", ScriptedModel(["Three."]), memory=[memory])
    asyncio.run(second.load_state(asyncio.run(first.save_state())))
    run(second, memory, "I sail at weekends.")
    assert said(memory_server) == {
        ("user", "I drink green tea."): 1,
        ("assistant", "One."): 1,
        ("user", "I keep bees."): 1,
        ("assistant", "Two."): 1,
        ("user", "I sail at weekends."): 1,
        ("assistant", "Three."): 1,
    }


def test_state_loaded_into_the_same_agent_writes_nothing_twice(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory(capture="both")
    agent = AssistantAgent("a", ScriptedModel(["One.", "Two.", "Three."]), memory=[memory])
    run(agent, memory, "I drink green tea.", "I keep bees.")
    asyncio.run(agent.load_state(asyncio.run(agent.save_state())))
    run(agent, memory, "I sail at weekends.")
    assert set(said(memory_server).values()) == {1}
    assert len(kept(memory_server)) == 6


def test_words_said_again_on_purpose_are_kept_again(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory(capture="both")
    agent = AssistantAgent("a", ScriptedModel(["One.", "Two."]), memory=[memory])
    run(agent, memory, "Tell me about tea.", "Tell me about tea.")
    assert said(memory_server)["user", "Tell me about tea."] == 2


@pytest.mark.parametrize("capture", ["user", "both"])
def test_words_said_again_after_a_reset_are_kept_again(
    make_memory: MakeMemory, memory_server: DevServer, capture: str
) -> None:
    memory = make_memory(capture=capture)
    agent = AssistantAgent("a", ScriptedModel(), memory=[memory])
    for _ in range(3):
        run(agent, memory, "Tell me about tea.")
        asyncio.run(agent.on_reset(CancellationToken()))
    assert said(memory_server)["user", "Tell me about tea."] == 3


@pytest.mark.parametrize("capture", ["user", "both"])
def test_words_said_again_to_a_team_after_its_reset_are_kept_again_once(
    make_memory: MakeMemory, memory_server: DevServer, capture: str
) -> None:
    memory = make_memory(capture=capture)
    agents = [AssistantAgent(name, ScriptedModel(), memory=[memory]) for name in ("a", "b")]
    team = RoundRobinGroupChat(list(agents), termination_condition=MaxMessageTermination(3))

    async def talk() -> None:
        for _ in range(2):
            await team.run(task="Tell me about tea.")
            await team.reset()
        assert (await memory.aflush(20)).pending == 0

    asyncio.run(talk())
    assert said(memory_server)["user", "Tell me about tea."] == 2


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_buffered_context_loses_no_utterance(
    make_memory: MakeMemory, memory_server: DevServer, *, is_wrapped: bool
) -> None:
    memory = make_memory(capture="both")
    context = BufferedChatCompletionContext(2)
    agent = AssistantAgent(
        "a",
        ScriptedModel([f"Answer {n}." for n in range(6)]),
        model_context=memory.wrap(context) if is_wrapped else context,
        memory=[memory],
    )
    run(agent, memory, *(f"Question number {n}?" for n in range(6)))
    assert len(said(memory_server)) == 12
    assert set(said(memory_server).values()) == {1}


def test_full_outbox_does_not_break_the_chat(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory(capture="both", on_full="raise", outbox_max_bytes=1)
    agent = AssistantAgent("a", ScriptedModel([REPLY]), memory=[memory])
    result = asyncio.run(agent.run(task=QUESTION))
    assert result.messages[-1].to_text() == REPLY
    assert kept(memory_server) == []


def test_captured_words_are_recalled_in_the_next_conversation(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory(capture="user", session_id="monday")
    run(
        AssistantAgent("a", ScriptedModel(), memory=[memory]),
        memory,
        "My bees live in seven hives.",
    )
    later = make_memory(session_id="tuesday")
    found = asyncio.run(later.query("How many hives do the bees have?"))
    assert "My bees live in seven hives." in [item.content for item in found.results]
    assert FACT not in [item.content for item in found.results]
