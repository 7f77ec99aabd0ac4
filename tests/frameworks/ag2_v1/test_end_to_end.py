"""AG2 1 with a real client and the development server: what is stored, once, under whose name, and under faults."""

import asyncio
import time
from typing import Any

import pytest
from ag2_memory import HEAD
from ag2_v1_model import ScriptedConfig, stored

from ag2 import Agent
from memotel.ag2_v1 import MemorySyncAPIError, MemorySyncMemory, RekallMemory
from memotel.devserver import DevServer, Fault, Route
from memotel.errors import ConfigurationError
from memotel.outcomes import Adapter

FACT = "I always drink oolong tea in the morning"
QUESTION = "what do I drink in the morning?"
ANSWER = "oolong tea, as ever"


def memory_sync(server: DevServer, **options: Any) -> MemorySyncMemory:
    settings = {"session_id": "s1", "api_key": "k", "recall_timeout": 5.0, **options}
    return MemorySyncMemory("ada", base_url=server.url, **settings)


def agent_with(memory: MemorySyncMemory | RekallMemory, model: ScriptedConfig) -> Agent:
    return Agent("planner", config=model, plugins=[memory.plugin()])


def test_a_second_session_recalls_what_the_first_one_said(memory_server: DevServer) -> None:
    with memory_sync(memory_server, session_id="first") as memory:
        asyncio.run(agent_with(memory, ScriptedConfig("noted")).ask(FACT))
        assert memory.flush(20).pending == 0
    with memory_sync(memory_server, session_id="second") as memory:
        model = ScriptedConfig(ANSWER)

        async def talk() -> str:
            return await stored(await agent_with(memory, model).ask(QUESTION))

        history = asyncio.run(talk())
    (request,) = model.seen[0].requests
    assert request.startswith(HEAD)
    assert "oolong tea" in request
    assert request.endswith(f"\n\n{QUESTION}")
    assert HEAD not in history


def test_both_sides_arrive_once_as_the_service_knows_them(memory_server: DevServer) -> None:
    with memory_sync(memory_server) as memory:
        asyncio.run(agent_with(memory, ScriptedConfig(ANSWER)).ask(QUESTION))
        memory.flush(20)
    human, ai = memory_server.items("ada", fate=None)
    assert human.text == f"human: {QUESTION}"
    assert human.speaker.startswith("human@ag2::s1#h")
    assert ai.text == f"ai: {ANSWER}"


def test_rekall_keeps_and_recalls(memory_server: DevServer) -> None:
    with RekallMemory(api_key="rk_k", api_url=memory_server.url, recall_timeout=5.0) as memory:
        asyncio.run(agent_with(memory, ScriptedConfig("noted")).ask(FACT))
        memory.flush(20)
        model = ScriptedConfig(ANSWER)
        asyncio.run(agent_with(memory, model).ask(QUESTION))
        memory.flush(20)
    assert model.seen[0].requests[0].startswith("Relevant memories (Rekall):\n")
    assert "oolong tea" in model.seen[0].text
    assert len(memory_server.requests(Route.REKALL_CREATE)) == 4


def test_calls_are_counted_under_this_framework(memory_server: DevServer) -> None:
    with memory_sync(memory_server) as memory:
        assert memory.client.adapter is Adapter.AG2_V1


FAULTS = [
    Fault("hang", "*"),
    Fault("delay", "*", delay_s=5.0),
    Fault("drip", "*", interval_s=0.2),
    Fault("reset", "*"),
    Fault("status", "*", status=500),
    Fault("status", "*", status=401),
    Fault("status", "*", status=429, retry_after_s=1.0),
    Fault("malformed", "*"),
    Fault("silent_quota", "*"),
    Fault("strict_quota", "*"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind}-{fault.status}")
def test_an_agent_answers_whatever_the_service_does(memory_server: DevServer, fault: Fault) -> None:
    memory_server.faults.set(fault)
    memory = memory_sync(memory_server, recall_timeout=0.3, exit_drain_timeout=0.0)
    model = ScriptedConfig(ANSWER)
    started = time.monotonic()
    reply = asyncio.run(agent_with(memory, model).ask(QUESTION))
    took = time.monotonic() - started
    memory.close(timeout=0.1)
    assert reply.body == ANSWER
    assert model.seen[0].requests == [QUESTION]
    assert took < 2.0, "the budget is 0.3 s; the rest is room for a busy machine"


def test_recall_leaves_the_loop_free(memory_server: DevServer) -> None:
    memory_server.faults.set(Fault("delay", "recalls", delay_s=0.5))
    memory = memory_sync(memory_server)
    gaps: list[float] = []

    async def watch() -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.005)
            gaps.append(time.monotonic() - last)
            last = time.monotonic()

    async def run() -> None:
        watching = asyncio.create_task(watch())
        await agent_with(memory, ScriptedConfig(ANSWER)).ask(QUESTION)
        watching.cancel()

    asyncio.run(run())
    memory.close()
    assert len(gaps) > 20
    assert max(gaps) < 0.3, "a blocking recall would be a gap of 0.5 s"


def test_a_paused_memory_neither_recalls_nor_keeps(memory_server: DevServer) -> None:
    with memory_sync(memory_server) as memory:
        with memory.paused():
            asyncio.run(agent_with(memory, ScriptedConfig(ANSWER)).ask(QUESTION))
        memory.flush(20)
    assert memory_server.requests(Route.MEMORYSYNC_RECALL) == ()
    assert memory_server.items("ada", fate=None) == ()


def test_explicit_calls_raise_what_their_users_know(memory_server: DevServer) -> None:
    memory_server.faults.set(Fault("status", "*", status=402))
    with memory_sync(memory_server) as memory, pytest.raises(MemorySyncAPIError):
        memory.search("tea")


def test_settings_that_contradict_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="api_key and access_token"):
        RekallMemory(api_key="rk_k", access_token="rat_t")
    with pytest.raises(ConfigurationError, match="user_id"):
        MemorySyncMemory("", api_key="k")
