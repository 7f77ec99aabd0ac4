"""Memory wherever AgentChat runs an AssistantAgent: alone, streamed, in every team, nested, on a shared runtime."""

import asyncio
import json
from collections.abc import Callable, Mapping

import pytest
from autogen_agentchat.agents import AssistantAgent, SocietyOfMindAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.messages import MemoryQueryEvent
from autogen_agentchat.teams import (
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_core import SingleThreadedAgentRuntime
from blocks import FACT, QUESTION, TAG, blocks_in
from remembering import remember
from scripted_model import ScriptedModel, call, text_seen

from memotel.autogen import RekallMemory
from memotel.devserver import DevServer

MakeMemory = Callable[..., RekallMemory]


def assert_one_block_each(*models: ScriptedModel) -> None:
    for model in models:
        assert model.seen
        assert [blocks_in(seen) for seen in model.seen] == [1] * len(model.seen)
        assert FACT in text_seen(model.seen[0])


def test_run_stream_shows_the_block_and_streams_the_reply(make_memory: MakeMemory) -> None:
    model = ScriptedModel(["green tea"])
    agent = AssistantAgent("a", model, memory=[make_memory()], model_client_stream=True)

    async def run() -> TaskResult:
        last = [item async for item in agent.run_stream(task=QUESTION)][-1]
        assert isinstance(last, TaskResult)
        return last

    result = asyncio.run(run())
    assert result.messages[-1].to_text() == "green tea"
    assert_one_block_each(model)


def test_recalled_items_are_an_event_with_scores(make_memory: MakeMemory) -> None:
    agent = AssistantAgent("a", ScriptedModel(), memory=[make_memory(emit_event=True)])
    result = asyncio.run(agent.run(task=QUESTION))
    events = [m for m in result.messages if isinstance(m, MemoryQueryEvent)]
    assert len(events) == 1
    [item] = events[0].content
    assert item.content == FACT
    assert item.metadata is not None
    assert 0 < item.metadata["score"] <= 1
    assert item.metadata["id"].startswith("mem_")


def test_without_events_recalled_text_stays_out_of_results_and_streams(
    make_memory: MakeMemory,
) -> None:
    model = ScriptedModel()
    agent = AssistantAgent("a", model, memory=[make_memory()])

    async def run() -> str:
        return "\n".join([str(item) async for item in agent.run_stream(task=QUESTION)])

    streamed = asyncio.run(run())
    assert FACT not in streamed
    assert_one_block_each(model)


@pytest.mark.parametrize("settings", [{}, {"emit_event": False}], ids=["default", "off"])
def test_a_word_in_memory_does_not_end_a_team(
    make_memory: MakeMemory, memory_server: DevServer, settings: Mapping[str, bool]
) -> None:
    remember(memory_server, f"{FACT} TERMINATE")
    models = ScriptedModel(["plain"] * 2), ScriptedModel(["plain"] * 2)
    agents = [
        AssistantAgent(name, model, memory=[make_memory(**settings)])
        for name, model in zip(("one", "two"), models, strict=True)
    ]
    ends = TextMentionTermination("TERMINATE") | MaxMessageTermination(5)
    result = asyncio.run(RoundRobinGroupChat(agents, termination_condition=ends).run(task=QUESTION))
    assert "TERMINATE" in text_seen(models[0].seen[0])
    assert [m.to_text() for m in result.messages] == [QUESTION, *["plain"] * 4]


def test_round_robin_team_recalls_for_what_was_said_last(make_memory: MakeMemory) -> None:
    memory = make_memory()
    one, two = (
        ScriptedModel(["Is it green tea?"] * 3),
        ScriptedModel(["Which tea in the morning?"] * 3),
    )
    agents = [
        AssistantAgent("one", one, memory=[memory]),
        AssistantAgent("two", two, memory=[memory]),
    ]
    team = RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(7))
    asyncio.run(team.run(task=QUESTION))
    assert_one_block_each(one, two)


def test_selector_team(make_memory: MakeMemory) -> None:
    one = ScriptedModel(["tea TERMINATE"])
    agents = [
        AssistantAgent("one", one, memory=[make_memory()]),
        AssistantAgent("two", ScriptedModel()),
    ]
    team = SelectorGroupChat(
        agents, ScriptedModel(["one"]), termination_condition=TextMentionTermination("TERMINATE")
    )
    asyncio.run(team.run(task=QUESTION))
    assert_one_block_each(one)


def test_swarm_recalls_for_the_person_not_for_the_hand_off(make_memory: MakeMemory) -> None:
    one = ScriptedModel([[call("transfer_to_two")]], thought="I hand over")
    two = ScriptedModel(["tea TERMINATE"])
    agents = [
        AssistantAgent("one", one, handoffs=["two"], memory=[make_memory()]),
        AssistantAgent("two", two, memory=[make_memory()]),
    ]
    team = Swarm(agents, termination_condition=TextMentionTermination("TERMINATE"))
    asyncio.run(team.run(task=QUESTION))
    assert_one_block_each(one, two)


def ledger(*, is_done: bool, instruction: str) -> str:
    def answer(value: object) -> dict[str, object]:
        return {"reason": "scripted", "answer": value}

    return json.dumps(
        {
            "is_request_satisfied": answer(is_done),
            "is_in_loop": answer(False),
            "is_progress_being_made": answer(True),
            "next_speaker": answer("one"),
            "instruction_or_question": answer(instruction),
        }
    )


def test_magentic_one_team_recalls_for_the_orchestrators_instruction(
    make_memory: MakeMemory,
) -> None:
    one = ScriptedModel(["green tea"])
    orchestrator = ScriptedModel(
        [
            "facts",
            "plan",
            ledger(is_done=False, instruction=QUESTION),
            ledger(is_done=True, instruction=""),
            "She drinks green tea.",
        ]
    )
    team = MagenticOneGroupChat([AssistantAgent("one", one, memory=[make_memory()])], orchestrator)
    result = asyncio.run(team.run(task="Find out about Ada"))
    assert result.messages[-1].to_text() == "She drinks green tea."
    assert_one_block_each(one)


def test_nested_teams(make_memory: MakeMemory) -> None:
    inner, outer = ScriptedModel(["tea"]), ScriptedModel()
    team = RoundRobinGroupChat(
        [AssistantAgent("inner", inner, memory=[make_memory()])], max_turns=1, name="team_inside"
    )
    society = SocietyOfMindAgent("society", team, ScriptedModel(["green tea"]))
    whole = RoundRobinGroupChat(
        [society, AssistantAgent("outer", outer, memory=[make_memory()])], max_turns=2
    )
    asyncio.run(whole.run(task=QUESTION))
    assert_one_block_each(inner, outer)


@pytest.mark.parametrize("is_untraced", ["true", "false"])
def test_shared_runtime_with_and_without_tracing(
    make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch, is_untraced: str
) -> None:
    monkeypatch.setenv("AUTOGEN_DISABLE_RUNTIME_TRACING", is_untraced)
    model = ScriptedModel()

    async def run() -> None:
        runtime = SingleThreadedAgentRuntime()
        runtime.start()
        agent = AssistantAgent("a", model, memory=[make_memory()])
        await RoundRobinGroupChat([agent], max_turns=1, runtime=runtime).run(task=QUESTION)
        await runtime.stop()

    asyncio.run(run())
    assert_one_block_each(model)


def test_team_state_holds_no_block(make_memory: MakeMemory) -> None:
    agent = AssistantAgent("a", ScriptedModel(), memory=[make_memory()])
    team = RoundRobinGroupChat([agent], max_turns=1)

    async def run() -> str:
        await team.run(task=QUESTION)
        return json.dumps(await team.save_state())

    state = asyncio.run(run())
    assert QUESTION in state
    assert TAG not in state
