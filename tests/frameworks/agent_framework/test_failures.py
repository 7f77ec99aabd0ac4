"""Whatever the service does, the agent answers; whoever asked explicitly is told."""

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest
from agent_framework_model import ScriptedClient, agent_of, call

from memotel.agent_framework import MemoryContextProvider, create_memory_tools
from memotel.counts import Count
from memotel.deadline import monotonic
from memotel.devserver import DevServer
from memotel.errors import MemotelError
from memotel.testing import SetFault

MakeMemory = Callable[..., MemoryContextProvider]
QUESTION = "What does Ada drink in the morning?"
FAULTS = ["hang", "drip", "reset", "reset_body", "status", "malformed", "huge", "rate_limit"]
BUDGET_S = 0.3
MOST_S = 20.0
"""Generous, as a busy machine may add seconds: what is faulty here would keep a caller for as long as it waits."""


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("kind", FAULTS)
def test_agent_answers_within_the_budget_when_the_service_fails(
    make_memory: MakeMemory, fault: SetFault, kind: str, *, is_streamed: bool
) -> None:
    fault(kind)
    client = ScriptedClient("I do not know.")
    memory = make_memory(recall_timeout=BUDGET_S, exit_drain_timeout=0.1)

    async def main() -> str:
        agent = agent_of(client, memory)
        if is_streamed:
            return str((await agent.run(QUESTION, stream=True).get_final_response()).text)
        return str((await agent.run(QUESTION)).text)

    started = monotonic()
    assert asyncio.run(main()) == "I do not know."
    assert monotonic() - started < MOST_S
    assert "Relevant memories" not in client.seen[0]


def test_nothing_said_during_an_outage_is_lost(
    make_memory: MakeMemory,
    memory_server: DevServer,
    fault: SetFault,
    written: Callable[[], Counter[str]],
) -> None:
    fault("status", status=503)
    memory = make_memory(recall_timeout=BUDGET_S)
    asyncio.run(agent_of(ScriptedClient("Noted."), memory).run(QUESTION))
    memory_server.faults.clear()
    assert memory.flush(20).pending == 0
    assert written() == {f"human: {QUESTION}": 1, "ai: Noted.": 1}


def test_timeout_is_counted_as_the_caller_got_it(make_memory: MakeMemory, fault: SetFault) -> None:
    fault("hang")
    memory = make_memory(recall_timeout=0.2)
    labels = (memory.client.provider, "agent_framework", "timeout")
    before = memory.client.counts.total(Count.RECALLS, *labels)
    asyncio.run(agent_of(ScriptedClient(), memory).run(QUESTION))
    assert memory.client.counts.total(Count.RECALLS, *labels) == before + 1


def test_full_outbox_that_raises_does_not_break_the_reply(
    make_memory: MakeMemory, fault: SetFault
) -> None:
    fault("hang")
    memory = make_memory(recall_timeout=0.2, outbox_max_writes=1, on_full="raise")
    assert asyncio.run(answer(memory)) == "Tea."


def test_fault_of_our_own_does_not_break_the_reply(make_memory: MakeMemory) -> None:
    memory = make_memory(redact=lambda text: text[1_000_000])
    assert asyncio.run(answer(memory)) == "Tea."


async def answer(memory: MemoryContextProvider) -> str:
    return str((await agent_of(ScriptedClient("Tea."), memory).run(QUESTION)).text)


def test_cancelled_run_ends_at_once(make_memory: MakeMemory, fault: SetFault) -> None:
    fault("hang")
    memory = make_memory(recall_timeout=60.0)

    async def main() -> None:
        asking = asyncio.Event()

        async def run() -> None:
            asking.set()
            await agent_of(ScriptedClient(), memory).run(QUESTION)

        task = asyncio.create_task(run())
        await asking.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    started = monotonic()
    asyncio.run(main())
    assert monotonic() - started < MOST_S


def test_loop_runs_on_while_memory_is_awaited(make_memory: MakeMemory, fault: SetFault) -> None:
    """Were the loop blocked, the ten runs would wait one after the other."""
    fault("delay", delay_s=0.5)
    memory = make_memory()

    async def main() -> int:
        ticks = 0
        runs = asyncio.gather(*(answer(memory) for _ in range(10)))
        while not runs.done():
            ticks += 1
            await asyncio.sleep(0.01)
        assert await runs == ["Tea."] * 10
        return ticks

    assert asyncio.run(main()) >= 10


def test_search_and_save_raise(make_memory: MakeMemory, fault: SetFault) -> None:
    fault("status", status=500)
    memory = make_memory(write_timeout=0.5)
    with pytest.raises(MemotelError):
        memory.search("tea in the morning")
    with pytest.raises(MemotelError):
        memory.save("Ada drinks tea")


def test_tools_find_and_save(make_memory: MakeMemory) -> None:
    memory = make_memory()
    client = ScriptedClient(
        call("save_memory", "c1", text="Ada drinks green tea in the morning"),
        call("search_memory", "c2", query="green tea"),
        "Done.",
    )
    agent = agent_of(client, tools=create_memory_tools(memory))
    results = [
        str(content.result)
        for message in asyncio.run(agent.run("Remember my tea.")).messages
        for content in message.contents
        if content.type == "function_result"
    ]
    assert results == ["Saved to memory.", "- Ada drinks green tea in the morning"]


def test_tools_answer_with_a_sentence_when_the_service_fails(
    make_memory: MakeMemory, fault: SetFault
) -> None:
    fault("status", status=500)
    memory = make_memory(write_timeout=0.5)
    client = ScriptedClient(call("search_memory", query="green tea"), "I cannot look.")
    agent = agent_of(client, tools=create_memory_tools(memory))
    [result] = [
        str(content.result)
        for message in asyncio.run(agent.run("Which tea?")).messages
        for content in message.contents
        if content.type == "function_result"
    ]
    assert result.startswith("Memory could not be searched: ")
