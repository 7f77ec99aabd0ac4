"""AG2 1: memory as tools that the model calls."""

import asyncio

import pytest
from ag2.events import BaseEvent, ToolCallEvent, ToolResultsEvent
from ag2_v1_model import HearingClient, ScriptedConfig, memory_on

from ag2 import Agent
from memotel.errors import QuotaExceededError


def answers(client: HearingClient, name: str, arguments: str) -> str:
    """Have a model call a tool; return all that it is answered."""
    memory = memory_on(client)
    model = ScriptedConfig(ToolCallEvent(name=name, arguments=arguments, id="call_1"), "done")
    agent = Agent("planner", config=model, tools=memory.tools())
    asyncio.run(agent.ask("please look into your memory"))
    return "\n".join(map(result_text, model.seen[1].events))


def result_text(event: BaseEvent) -> str:
    if not isinstance(event, ToolResultsEvent):
        return ""
    return "\n".join(str(getattr(p, "content", p)) for r in event.results for p in r.result.parts)


def test_search_memory_answers_with_what_is_found() -> None:
    assert "- likes oolong tea" in answers(HearingClient(), "search_memory", '{"query": "tea"}')


def test_save_memory_answers_that_it_is_saved() -> None:
    client = HearingClient()
    assert "Saved to memory." in answers(client, "save_memory", '{"text": "Ada likes tea"}')
    assert [text for _, text in client.saved] == ["Ada likes tea"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ('{"query": ""}', "query must be a text that is not empty"),
        ('{"query": "tea", "limit": 0}', "limit must be a whole number from 1 to 50"),
    ],
)
def test_an_unusable_argument_is_a_sentence(arguments: str, complaint: str) -> None:
    assert complaint in answers(HearingClient(), "search_memory", arguments)


def test_a_failure_is_a_sentence() -> None:
    client = HearingClient(error=QuotaExceededError("over", status_code=402))
    said = answers(client, "save_memory", '{"text": "Ada likes tea"}')
    assert "Not saved: the memory service's quota is used up." in said


def test_model_is_told_of_both_tools_and_their_arguments() -> None:
    search, save = [tool.schema.function for tool in memory_on(HearingClient()).tools()]
    assert (search.name, save.name) == ("search_memory", "save_memory")
    assert search.parameters["required"] == ["query"]
    assert search.parameters["properties"]["limit"]["default"] == 5
    assert search.parameters["properties"]["query"]["description"].startswith("What to look for")
    assert save.parameters["required"] == ["text"]
