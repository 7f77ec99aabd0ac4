"""Both sides of each run are kept, once, under their speakers."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable

import pytest
from agent_framework import AgentSession, Message, WorkflowBuilder
from agent_framework_model import ScriptedClient, agent_of, call

from memotel.agent_framework import MemoryContextProvider
from memotel.devserver import DevServer

MakeMemory = Callable[..., MemoryContextProvider]
Written = Callable[[], Counter[str]]
FACT = "I drink green tea every morning"


def flushed(memory: MemoryContextProvider) -> None:
    report = memory.flush(20)
    assert (report.pending, report.failed) == (0, 0)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_both_sides_are_written_once(
    make_memory: MakeMemory, written: Written, *, is_streamed: bool
) -> None:
    memory = make_memory()

    async def main() -> None:
        agent = agent_of(ScriptedClient("Noted, thank you.", "Noted as well."), memory)
        session = agent.create_session()
        for text in (FACT, "I keep seven hives of bees"):
            if is_streamed:
                await agent.run(text, session=session, stream=True).get_final_response()
            else:
                await agent.run(text, session=session)

    asyncio.run(main())
    flushed(memory)
    assert written() == {
        f"human: {FACT}": 1,
        "ai: Noted, thank you.": 1,
        "human: I keep seven hives of bees": 1,
        "ai: Noted as well.": 1,
    }


def test_turns_are_filed_under_the_session_of_their_run(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory()

    async def main() -> None:
        session = AgentSession(session_id="monday")
        await agent_of(ScriptedClient("Noted."), memory).run(FACT, session=session)

    asyncio.run(main())
    flushed(memory)
    sessions = {json.loads(item.metadata)["session_id"] for item in memory_server.items(fate=None)}
    assert {session.removeprefix("agent_framework::") for session in sessions} == {"monday"}


def test_session_that_is_given_holds_for_every_run(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory(session_id="support")
    asyncio.run(agent_of(ScriptedClient("Noted."), memory).run(FACT))
    flushed(memory)
    sessions = {json.loads(item.metadata)["session_id"] for item in memory_server.items(fate=None)}
    assert {session.removeprefix("agent_framework::") for session in sessions} == {"support"}


def test_genuine_repeat_of_a_person_is_kept(make_memory: MakeMemory, written: Written) -> None:
    memory = make_memory()

    async def main() -> None:
        agent = agent_of(ScriptedClient("First answer.", "Second answer."), memory)
        session = agent.create_session()
        await agent.run(FACT, session=session)
        await agent.run(FACT, session=session)

    asyncio.run(main())
    flushed(memory)
    assert written()[f"human: {FACT}"] == 2


def test_tool_traffic_is_not_written(make_memory: MakeMemory, written: Written) -> None:
    def weather() -> str:
        """Return the weather."""
        return "heavy rain"

    memory = make_memory()
    client = ScriptedClient(call("weather"), "Take an umbrella.")
    asyncio.run(agent_of(client, memory, tools=[weather]).run("How is the weather now?"))
    flushed(memory)
    assert written() == {"human: How is the weather now?": 1, "ai: Take an umbrella.": 1}


def test_recalled_memory_is_not_written(make_memory: MakeMemory, written: Written) -> None:
    memory = make_memory(placement="user")
    memory.save(FACT)
    before = written()
    client = ScriptedClient("As ever.")
    asyncio.run(agent_of(client, memory).run("What do I drink every morning?"))
    flushed(memory)
    assert FACT in client.seen[0]
    assert written() - before == {"human: What do I drink every morning?": 1, "ai: As ever.": 1}


def test_history_handed_in_with_each_run_is_written_once(
    make_memory: MakeMemory, written: Written
) -> None:
    """As a web client does that holds the conversation itself: every run gets all of it, made anew."""
    memory = make_memory()
    agent = agent_of(ScriptedClient("Noted, thank you.", "Noted as well."), memory)

    def said(role: str, text: str) -> Message:
        return Message(role, [text])

    first = [said("user", FACT)]
    asyncio.run(agent.run(first))
    asyncio.run(
        agent.run(
            [
                said("user", FACT),
                said("assistant", "Noted, thank you."),
                said("user", "I keep seven hives of bees"),
            ]
        )
    )
    flushed(memory)
    assert written() == {
        f"human: {FACT}": 1,
        "ai: Noted, thank you.": 1,
        "human: I keep seven hives of bees": 1,
        "ai: Noted as well.": 1,
    }


def test_agents_of_a_workflow_write_each_utterance_once(
    make_memory: MakeMemory, written: Written
) -> None:
    memory = make_memory()
    writer = agent_of(ScriptedClient("Tea is a fine thing."), memory, name="writer")
    critic = agent_of(ScriptedClient("It could be shorter."), memory, name="critic")
    workflow = WorkflowBuilder(start_executor=writer).add_edge(writer, critic).build()
    asyncio.run(run_workflow(workflow, "Please write a line about tea"))
    flushed(memory)
    assert written() == {
        "human: Please write a line about tea": 1,
        "ai: Tea is a fine thing.": 1,
        "ai: It could be shorter.": 1,
    }


async def run_workflow(workflow: object, text: str) -> None:
    await workflow.run(text)  # type: ignore[attr-defined] # a Workflow


def test_words_of_another_agent_are_an_agents(make_memory: MakeMemory, written: Written) -> None:
    memory = make_memory()
    messages = [
        Message("user", ["Please write a line about tea"]),
        Message("assistant", ["Tea is a fine thing."], author_name="writer"),
        Message("user", ["What do you say to this?"], author_name="writer"),
    ]
    asyncio.run(agent_of(ScriptedClient("Shorter, please."), memory).run(messages))
    flushed(memory)
    assert written() == {
        "human: Please write a line about tea": 1,
        "ai: Tea is a fine thing.": 1,
        "ai: What do you say to this?": 1,
        "ai: Shorter, please.": 1,
    }


@pytest.mark.parametrize(
    ("roles", "kept"),
    [(("human",), {f"human: {FACT}"}), (("ai",), {"ai: Noted, thank you."}), ((), set())],
)
def test_persist_roles_narrow_whose_words_are_kept(
    make_memory: MakeMemory, written: Written, roles: tuple[str, ...], kept: set[str]
) -> None:
    memory = make_memory(persist_roles=roles)
    asyncio.run(agent_of(ScriptedClient("Noted, thank you."), memory).run(FACT))
    flushed(memory)
    assert set(written()) == kept


def test_stream_read_to_its_end_elsewhere_is_kept_for_the_user_for_whom_it_began(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory()

    async def main() -> None:
        agent = agent_of(ScriptedClient("Noted, thank you."), memory)
        with memory.scope(user_id="ben"):
            stream = agent.run(FACT, stream=True)
            await anext(aiter(stream))
        await stream.get_final_response()

    asyncio.run(main())
    flushed(memory)
    users = {
        item.scope.user or json.loads(item.metadata)["user_id"]
        for item in memory_server.items(fate=None)
    }
    assert users == {"ben"}


def test_same_message_is_kept_for_each_user_to_whom_it_is_said(
    make_memory: MakeMemory, written: Written
) -> None:
    memory = make_memory(persist_roles=("human",))
    message = Message("user", [FACT])

    async def main() -> None:
        for user in ("ada", "ben"):
            with memory.scope(user_id=user):
                await agent_of(ScriptedClient(), memory).run(message)

    asyncio.run(main())
    flushed(memory)
    assert written() == {f"human: {FACT}": 2}
