"""search_memory and save_memory in a real tool loop."""

import asyncio
import json
from collections.abc import Callable

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken
from autogen_core.models import FunctionExecutionResultMessage
from autogen_core.tools import FunctionTool
from blocks import FACT
from scripted_model import ScriptedModel, call

from memotel.autogen import RekallMemory, create_memory_tools
from memotel.devserver import DevServer
from memotel.testing import SetFault

MakeMemory = Callable[..., RekallMemory]


def use(memory: RekallMemory, tool: str, **arguments: object) -> str:
    """Let an agent call one tool; return what its model was told."""
    model = ScriptedModel([[call(tool, json.dumps(arguments))], "done"])
    agent = AssistantAgent(
        "a", model, tools=list(create_memory_tools(memory)), reflect_on_tool_use=True
    )
    asyncio.run(agent.run(task="go on"))
    told = model.seen[-1][-1]
    assert isinstance(told, FunctionExecutionResultMessage)
    assert told.content[0].is_error is False
    return told.content[0].content


def test_tools_are_function_tools_with_described_arguments(make_memory: MakeMemory) -> None:
    search, save = create_memory_tools(make_memory())
    assert isinstance(search, FunctionTool)
    assert (search.name, save.name) == ("search_memory", "save_memory")
    parameters = search.schema.get("parameters")
    assert parameters is not None
    assert set(parameters["properties"]) == {"query", "limit"}
    assert parameters.get("required") == ["query"]


def test_search_tells_the_model_what_is_known(make_memory: MakeMemory) -> None:
    assert use(make_memory(), "search_memory", query="green tea", limit=99) == f"- {FACT}"


def test_search_says_that_nothing_matches(make_memory: MakeMemory) -> None:
    assert use(make_memory(), "search_memory", query="submarines") == "Nothing in memory matches."


def test_saved_text_is_kept_once_a_session(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory(session_id="s1")
    assert use(memory, "save_memory", text="Bob keeps bees").startswith("Saved")
    assert use(memory, "save_memory", text="Bob keeps bees").startswith("Saved")
    assert [item.text for item in memory_server.items()].count("Bob keeps bees") == 1


def test_save_during_an_outage_is_accepted(make_memory: MakeMemory, fault: SetFault) -> None:
    fault("hang", on="writes", times=1)
    memory = make_memory(write_timeout=0.2)
    assert use(memory, "save_memory", text="Bob keeps bees").startswith("Accepted")
    assert asyncio.run(memory.aflush(20)).pending == 0


@pytest.mark.parametrize("tool", ["search_memory", "save_memory"])
def test_failure_is_a_sentence_without_content(
    make_memory: MakeMemory, fault: SetFault, tool: str
) -> None:
    fault("status", on="rekall", status=401)
    argument = "query" if tool == "search_memory" else "text"
    told = use(make_memory(write_timeout=0.3), tool, **{argument: "Bob keeps bees"})
    assert "bees" not in told
    assert told.startswith(("Memory could not be searched", "Not saved", "Accepted"))


@pytest.mark.parametrize(
    ("tool", "argument"), [("search_memory", "query"), ("save_memory", "text")]
)
def test_empty_argument_is_answered_without_a_request(
    make_memory: MakeMemory, memory_server: DevServer, tool: str, argument: str
) -> None:
    before = len(memory_server.requests())
    assert "empty" in use(make_memory(), tool, **{argument: "  "})
    assert len(memory_server.requests()) == before


def test_cancelled_token_abandons_a_tool(make_memory: MakeMemory) -> None:
    search, _ = create_memory_tools(make_memory())
    token = CancellationToken()
    token.cancel()

    async def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            await search.run_json({"query": "tea"}, token)

    asyncio.run(run())
