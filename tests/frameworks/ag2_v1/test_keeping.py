"""AG2 1: each turn is kept once, both sides, under its speaker; plumbing is not."""

import asyncio
from typing import Any

import pytest
from ag2.events import ToolCallEvent
from ag2.tools import tool
from ag2_memory import HEAD
from ag2_v1_model import HearingClient, ScriptedConfig, memory_on
from pydantic import BaseModel

from ag2 import Agent
from memotel.ag2_v1.base import AgentMemory
from memotel.counts import Count
from memotel.errors import ConfigurationError
from memotel.memory.template import DEFAULT_CONTEXT_TEMPLATE
from memotel.outcomes import Outcome, RefusalReason

QUESTION = "please plan my trip to Oslo in May"


@pytest.fixture
def client() -> HearingClient:
    return HearingClient()


@pytest.fixture
def memory(client: HearingClient) -> AgentMemory:
    return memory_on(client)


def planner(memory: AgentMemory, *lines: Any, **options: Any) -> Agent:
    config = ScriptedConfig(*lines)
    return Agent("planner", config=config, plugins=[memory.plugin()], **options)


def call(name: str, arguments: str = "{}") -> ToolCallEvent:
    return ToolCallEvent(name=name, arguments=arguments, id="call_1")


def test_both_sides_are_kept_once(client: HearingClient, memory: AgentMemory) -> None:
    async def talk() -> None:
        reply = await planner(memory, "take the train", "then Bergen").ask(QUESTION)
        await reply.ask("and what then in June?")

    asyncio.run(talk())
    assert client.said == [
        ("human", QUESTION),
        ("ai", "take the train"),
        ("human", "and what then in June?"),
        ("ai", "then Bergen"),
    ]
    human, ai = client.turns[:2]
    assert (human.speaker_name, human.observer) == (None, "planner/received")
    assert (ai.speaker_name, ai.observer) == ("planner", "planner/sent")
    assert human.scope.session_id == "s1"
    assert human.source == "ag2"


def test_a_person_who_repeats_themselves_is_kept_twice(
    client: HearingClient, memory: AgentMemory
) -> None:
    agent = planner(memory)
    asyncio.run(agent.ask(QUESTION))
    asyncio.run(agent.ask(QUESTION))
    assert client.said.count(("human", QUESTION)) == 2
    assert len({turn.message_id for turn in client.turns}) == 4


def test_tool_calls_and_results_are_not_kept(client: HearingClient, memory: AgentMemory) -> None:
    def look_up() -> str:
        return "a train at nine"

    asyncio.run(planner(memory, call("look_up"), "at nine", tools=[look_up]).ask(QUESTION))
    assert client.said == [("human", QUESTION), ("ai", "at nine")]


def test_a_tools_final_result_is_not_the_agents_words(
    client: HearingClient, memory: AgentMemory
) -> None:
    from ag2.events import ToolResult

    def look_up() -> ToolResult:
        return ToolResult("a train at nine", final=True)

    reply = asyncio.run(planner(memory, call("look_up"), tools=[tool(look_up)]).ask(QUESTION))
    assert reply.body is not None
    assert "a train at nine" in reply.body
    assert client.said == [("human", QUESTION)]


def test_an_agent_used_as_a_tool_recalls_and_keeps_nothing(
    client: HearingClient, memory: AgentMemory
) -> None:
    inner = ScriptedConfig("the night train")
    expert = Agent("expert", config=inner, plugins=[memory.plugin()])
    lines = (call("task_expert", '{"objective": "find a train to Oslo"}'), "take the night train")
    agent = planner(memory, *lines, tools=[expert.as_tool(description="knows trains")])
    asyncio.run(agent.ask(QUESTION))
    assert HEAD in inner.seen[0].text
    assert [asked.agent for asked in client.asked] == ["planner", "expert"]
    assert client.said == [("human", QUESTION), ("ai", "take the night train")]


def test_what_is_enqueued_is_kept_and_recalled_for(
    client: HearingClient, memory: AgentMemory
) -> None:
    agent = planner(memory, "first", "second")

    async def talk() -> None:
        async with agent.run(QUESTION) as run:
            run.enqueue("and only by night trains, please")
            await run.result()

    asyncio.run(talk())
    heard = [words for speaker, words in client.said if speaker == "human"]
    assert sorted("\n".join(heard).splitlines()) == sorted(
        [QUESTION, "and only by night trains, please"]
    )


def test_results_of_background_tasks_are_nobodys_words(
    client: HearingClient, memory: AgentMemory
) -> None:
    agent = planner(memory)

    async def talk() -> None:
        async with agent.run(QUESTION) as run:
            run.enqueue("Background task 1 (find trains) completed:\nnight train")
            await run.result()

    asyncio.run(talk())
    assert [words for speaker, words in client.said if speaker == "human"] == [QUESTION]


class Plan(BaseModel):
    city: str


def test_asking_the_model_to_repair_its_answer_is_nobodys_words(
    client: HearingClient, memory: AgentMemory
) -> None:
    agent = planner(memory, "no json", '{"city": "Oslo"}')

    async def talk() -> Plan | None:
        reply = await agent.ask(QUESTION, response_schema=Plan)
        return await reply.content(retries=1)

    assert asyncio.run(talk()) == Plan(city="Oslo")
    assert [words for speaker, words in client.said if speaker == "human"] == [QUESTION]
    assert {asked.prompt for asked in client.asked} == {QUESTION}


def test_words_of_another_member_of_a_network_are_not_a_persons(
    client: HearingClient, memory: AgentMemory
) -> None:
    asyncio.run(planner(memory, "ok").ask(QUESTION, dependencies={"ag2.network.channel": object()}))
    assert client.said == [("ai", QUESTION), ("ai", "ok")]


def test_network_dependency_has_the_name_that_is_looked_for() -> None:
    from ag2.network.policies import CHANNEL_DEP

    from memotel.ag2_v1.keeping import _IN_A_CHANNEL

    assert CHANNEL_DEP == _IN_A_CHANNEL


def test_a_question_that_the_model_fails_on_is_kept(
    client: HearingClient, memory: AgentMemory
) -> None:
    with pytest.raises(ConnectionError, match="model down"):
        asyncio.run(planner(memory, ConnectionError("model down")).ask(QUESTION))
    assert client.said == [("human", QUESTION)]


def test_our_own_block_is_not_kept(client: HearingClient, memory: AgentMemory) -> None:
    block = DEFAULT_CONTEXT_TEMPLATE.replace("{context}", "likes tea")
    asyncio.run(planner(memory, "ok").ask(block + QUESTION))
    assert client.said[0] == ("human", QUESTION)


@pytest.mark.parametrize(("roles", "kept"), [(("human",), ["human"]), (("ai",), ["ai"]), ((), [])])
def test_persist_roles_narrows_whose_words_are_kept(
    client: HearingClient, roles: tuple[str, ...], kept: list[str]
) -> None:
    asyncio.run(planner(memory_on(client, persist_roles=roles), "ok").ask(QUESTION))
    assert [speaker for speaker, _ in client.said] == kept


def test_an_unknown_role_is_refused(client: HearingClient) -> None:
    with pytest.raises(ConfigurationError, match="persist_roles"):
        memory_on(client, persist_roles=("robot",))


def test_each_person_of_one_agent_has_a_scope_of_their_own(
    client: HearingClient, memory: AgentMemory
) -> None:
    agent = planner(memory, *["noted"] * 20)

    async def serve(user: str) -> None:
        with memory.scope(user_id=user, session_id=f"{user}-1"):
            reply = await agent.ask(f"I am {user} and I like trains")
            await reply.ask(f"{user} asks what then?")

    async def run() -> None:
        await asyncio.gather(*(serve(f"user{number}") for number in range(5)))

    asyncio.run(run())
    assert len(client.turns) == 20
    for turn in client.turns:
        assert turn.scope.session_id == f"{turn.scope.user_id}-1"
        if turn.speaker == "human":
            assert turn.scope.user_id in turn.text
    assert {(a.scope.user_id, a.prompt.split()[0]) for a in client.asked} >= {("user1", "user1")}


def test_faults_of_ours_never_reach_a_turn(client: HearingClient, memory: AgentMemory) -> None:
    client.error = RuntimeError("broken inside")
    reply = asyncio.run(planner(memory, "take the train").ask(QUESTION))
    assert reply.body == "take the train"
    recalls = client.counts.total(
        Count.RECALLS, client.provider, client.adapter, Outcome.INTERNAL_ERROR
    )
    refused = client.counts.total(Count.REFUSED, client.provider, RefusalReason.INTERNAL_ERROR)
    assert (recalls, refused) == (1, 2)
