"""Memory as tools: on real agents, and every answer that a model can get."""

import asyncio
import inspect
from typing import Any

import pytest
from ag2_chats import chat, person
from ag2_memory import RecordingClient, memory_on
from ag2_model import assistant, tool_call, with_model

from ag2_memorysync import register_memory_tools
from autogen import ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent
from memotel.errors import (
    BudgetExceededError,
    MemotelError,
    QuotaExceededError,
    RateLimitedError,
    TransportError,
)
from memotel.memory.tools import memory_tools
from memotel.outcomes import WriteOutcome
from memotel.values import Save, WriteAnswer

both_kinds = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
both_tools = pytest.mark.parametrize("has_twins", [False, True], ids=["plain", "twins"])


@pytest.fixture
def client() -> RecordingClient:
    return RecordingClient()


def test_tools_are_synchronous_functions_that_return_text(client: RecordingClient) -> None:
    tools = memory_tools(memory_on(client))
    for tool in (tools.search_memory, tools.save_memory):
        assert not inspect.iscoroutinefunction(tool)
    assert tools.search_memory("what to drink") == "- likes oolong tea"
    assert tools.save_memory("Ada likes tea").startswith("Saved")
    assert [text for _, text in client.saved] == ["Ada likes tea"]


def test_twins_answer_the_same(client: RecordingClient) -> None:
    tools = memory_tools(memory_on(client))

    async def call() -> tuple[str, str]:
        return await tools.asearch_memory("tea", limit=1), await tools.asave_memory("Ada likes tea")

    assert asyncio.run(call()) == ("- likes oolong tea", "Saved to memory.")


def test_nothing_found_is_said(client: RecordingClient) -> None:
    client.context = ""
    assert memory_tools(memory_on(client)).search_memory("tea") == "No memories found."


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"query": ""}, "query must be a text that is not empty"),
        ({"query": 7}, "query must be a text that is not empty"),
        ({"query": "tea", "limit": 0}, "limit must be a whole number from 1 to 50"),
        ({"query": "tea", "limit": 51}, "limit must be a whole number from 1 to 50"),
        ({"query": "tea", "limit": "many"}, "limit must be a whole number from 1 to 50"),
        ({"query": "tea", "limit": True}, "limit must be a whole number from 1 to 50"),
    ],
)
def test_arguments_of_a_search_are_checked(
    client: RecordingClient, arguments: dict[str, Any], complaint: str
) -> None:
    tools = memory_tools(memory_on(client))
    assert tools.search_memory(**arguments) == f"Memory could not be searched: {complaint}."


@pytest.mark.parametrize("text", ["", " ", None, 7])
def test_an_empty_fact_is_not_saved(client: RecordingClient, text: Any) -> None:
    said = memory_tools(memory_on(client)).save_memory(text)
    assert said == "Not saved: text must be a text that is not empty."
    assert client.saved == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (BudgetExceededError("secret detail"), "the memory service did not answer in time"),
        (RateLimitedError("secret detail", status_code=429), "the memory service asks to wait"),
        (
            QuotaExceededError("secret detail", status_code=402),
            "the memory service's quota is used up",
        ),
        (TransportError("secret detail"), "the memory service cannot be reached now"),
        (MemotelError("secret detail"), "the memory service cannot be reached now"),
    ],
)
def test_a_failure_is_a_short_honest_sentence(error: MemotelError, reason: str) -> None:
    tools = memory_tools(memory_on(RecordingClient(error=error)))
    assert tools.search_memory("tea") == f"Memory could not be searched: {reason}."
    assert tools.save_memory("Ada likes tea") == f"Not saved: {reason}."


@pytest.mark.parametrize(
    ("outcome", "start"),
    [
        (WriteOutcome.STORED, "Saved"),
        (WriteOutcome.DUPLICATE, "Saved"),
        (WriteOutcome.IGNORED, "Not saved"),
        (WriteOutcome.QUOTA, "Not saved"),
        (WriteOutcome.REJECTED, "Not saved"),
    ],
)
def test_what_became_of_a_fact_is_said(outcome: WriteOutcome, start: str) -> None:
    class Answering(RecordingClient):
        def save(self, *arguments: Any, **options: Any) -> WriteAnswer:
            del arguments, options
            return WriteAnswer(outcome)

    said = memory_tools(memory_on(Answering())).save_memory("Ada likes tea")
    assert said.startswith(start)
    assert Save is not None


@both_kinds
@both_tools
@pytest.mark.parametrize("is_one", [False, True], ids=["two-agents", "one-agent"])
def test_a_model_uses_the_tools(
    client: RecordingClient, is_async: bool, has_twins: bool, is_one: bool
) -> None:
    agent, model = assistant(
        "planner",
        tool_call("search_memory", '{"query": "drinks"}'),
        tool_call("save_memory", '{"text": "Ada likes tea"}', "call_2"),
        "noted",
    )
    user = person()
    memory = memory_on(client)
    executor = agent if is_one else user
    register_memory_tools(memory, caller=agent, executor=executor, is_async=has_twins)
    with_model(agent, model)
    if is_one:
        group = GroupChat(
            agents=[user, agent],
            messages=[],
            max_round=6,
            speaker_selection_method=lambda last, chat: agent,
        )
        chat(user, GroupChatManager(group, silent=True), "what do I drink?", is_async=is_async)
        said = [message["content"] for message in group.messages]
    else:
        result = chat(user, agent, "what do I drink?", is_async=is_async, max_turns=3)
        said = [message["content"] for message in result.chat_history]
    assert said[-1] == "noted"
    assert "- likes oolong tea" in said
    assert "Saved to memory." in said
    assert [text for _, text in client.saved] == ["Ada likes tea"]


def test_tools_in_a_group_with_an_executor_of_its_own(client: RecordingClient) -> None:
    agent, model = assistant("planner", tool_call("search_memory", '{"query": "drinks"}'), "tea")
    executor = ConversableAgent("executor", human_input_mode="NEVER", llm_config=False)
    user = UserProxyAgent("ada", human_input_mode="NEVER", code_execution_config=False)
    memory = memory_on(client)
    memory.add_to_agent(agent)
    register_memory_tools(memory, caller=agent, executor=executor)
    with_model(agent, model)
    order = {"ada": agent, "planner": executor, "executor": agent}
    group = GroupChat(
        agents=[user, agent, executor],
        messages=[],
        max_round=4,
        speaker_selection_method=lambda last, chat: order[last.name],
    )
    chat(user, GroupChatManager(group, silent=True), "what do I drink?")
    assert [m["content"] for m in group.messages][-1] == "tea"
    assert client.kept == [("human", "what do I drink?"), ("ai", "tea")]


def test_the_model_is_told_what_the_tools_are_for(client: RecordingClient) -> None:
    agent, _ = assistant("planner")
    register_memory_tools(memory_on(client), caller=agent, executor=person())
    told = {tool["function"]["name"]: tool["function"] for tool in agent.llm_config["tools"]}
    assert set(told) == {"search_memory", "save_memory"}
    assert told["search_memory"]["parameters"]["required"] == ["query"]
    assert told["search_memory"]["parameters"]["properties"]["limit"]["type"] == "integer"
    assert all(one["description"] for one in told.values())
