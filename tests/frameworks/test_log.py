"""What an adapter's own faults say in the log: not a line per turn, and none of the words."""

import asyncio
from typing import Any

import pytest
from ag2_chats import chat, person
from ag2_model import assistant
from autogen_agentchat.agents import AssistantAgent
from scripted_model import ScriptedModel

from memotel.ag2 import RekallCapability
from memotel.autogen import RekallMemory
from memotel.client import MemoryClient
from memotel.devserver import DevServer

WORDS = "the cat sleeps on the radiator"


@pytest.fixture(autouse=True)
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: Any, **__: Any) -> None:
        raise RuntimeError(WORDS)

    monkeypatch.setattr(MemoryClient, "write", write)


def through_ag2(url: str) -> list[str]:
    agent, _ = assistant("helper", "one", "two", "three")
    with RekallCapability(api_key="rk_log", api_url=url) as memory:
        memory.add_to_agent(agent)
        result = chat(person(says=WORDS), agent, WORDS, max_turns=3)
    return [str(m["content"]) for m in result.chat_history][1::2]


def through_autogen(url: str) -> list[str]:
    memory = RekallMemory(url, "rk_log", capture="both")
    agent = AssistantAgent("helper", ScriptedModel(["one", "two", "three"]), memory=[memory])

    async def run() -> list[str]:
        said = [(await agent.run(task=WORDS)).messages[-1].to_text() for _ in range(3)]
        await memory.close()
        return said

    return asyncio.run(run())


@pytest.mark.parametrize("run", [through_ag2, through_autogen])
def test_fault_of_every_turn_is_one_line_without_the_words(
    run: Any, memory_server: DevServer, caplog: pytest.LogCaptureFixture
) -> None:
    assert run(memory_server.url) == ["one", "two", "three"]
    ours = [record for record in caplog.records if record.name.startswith("memotel")]
    assert [record.__dict__["event"] for record in ours] == ["hook.write_failed"]
    assert "RuntimeError in test_log.py" in ours[0].getMessage()
    assert WORDS not in str(ours[0].__dict__)
