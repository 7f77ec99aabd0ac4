"""AG2 agents with a real client and the development server: what is stored, once, under whose name, and under faults."""

import asyncio
import copy
import time
from collections.abc import Iterator
from typing import Any

import pytest
from ag2_chats import chat, person, stored_texts
from ag2_memory import HEAD
from ag2_model import assistant
from autogen.agentchat import initiate_group_chat
from autogen.agentchat.group.patterns import RoundRobinPattern

from ag2_memorysync import MemorySyncCapability
from autogen import ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent
from memotel.ag2 import RekallCapability
from memotel.devserver import DevServer, Fate, Fault, Route

QUESTION = "please plan my trip to Oslo in May"
ANSWER = "take the night train from Copenhagen"
both_kinds = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture
def memory(memory_server: DevServer) -> Iterator[MemorySyncCapability]:
    with capability(memory_server) as made:
        yield made


def capability(server: DevServer, **options: Any) -> MemorySyncCapability:
    settings = {"user_id": "ada", "session_id": "s1", "api_key": "k", "recall_timeout": 5.0}
    return MemorySyncCapability(base_url=server.url, **{**settings, **options})


def sent(server: DevServer, user: str = "ada") -> list[str]:
    """Every text that arrived as a turn, in its order, replays too."""
    return [item.text for item in server.items(user, fate=None)]


def planner(memory: MemorySyncCapability, *lines: str) -> ConversableAgent:
    agent, _ = assistant("planner", *lines)
    memory.add_to_agent(agent)
    return agent


@both_kinds
def test_a_second_session_recalls_what_the_first_one_said(
    memory_server: DevServer, is_async: bool
) -> None:
    with capability(memory_server, session_id="first") as memory:
        agent, _ = assistant("planner", "noted")
        memory.add_to_agent(agent)
        chat(
            person(),
            agent,
            "I always drink oolong tea in the morning",
            is_async=is_async,
            max_turns=1,
        )
        assert memory.flush().pending == 0
    with capability(memory_server, session_id="second") as memory:
        agent, model = assistant("planner", "oolong")
        memory.add_to_agent(agent)
        user = person()
        chat(user, agent, "what do I drink in the morning?", is_async=is_async, max_turns=1)
    question = model.seen[0][1]["content"]
    assert question.startswith(HEAD)
    assert "oolong tea" in question
    assert question.endswith("\n\nwhat do I drink in the morning?")
    assert all(HEAD not in text for text in stored_texts(agent, user))


def test_both_sides_arrive_as_the_service_knows_them(
    memory_server: DevServer, memory: MemorySyncCapability
) -> None:
    chat(person(), planner(memory, ANSWER), QUESTION, max_turns=1)
    memory.flush()
    human, ai = memory_server.items("ada", fate=None)
    assert human.text == f"human: {QUESTION}"
    assert human.speaker.startswith("human@ag2::s1#h")
    assert human.source == "ag2"
    assert ai.text == f"ai: {ANSWER}"
    assert ai.speaker.startswith("ai@ag2::s1#h")
    assert '"session_id": "ag2::s1"' in ai.metadata


@both_kinds
def test_two_hooks_that_see_one_utterance_write_it_once(
    memory_server: DevServer, memory: MemorySyncCapability, is_async: bool
) -> None:
    user = UserProxyAgent("ada", human_input_mode="NEVER", code_execution_config=False)
    memory.add_to_agent(user)
    chat(user, planner(memory, ANSWER), QUESTION, is_async=is_async, max_turns=1)
    memory.flush(agent=user)
    assert sent(memory_server) == [f"human: {QUESTION}", f"ai: {ANSWER}"]


@both_kinds
def test_three_agents_of_a_group_write_each_utterance_once(
    memory_server: DevServer, memory: MemorySyncCapability, is_async: bool
) -> None:
    user = UserProxyAgent("ada", human_input_mode="NEVER", code_execution_config=False)
    members = [assistant(name, f"{name} thinks so too")[0] for name in ("one", "two", "three")]
    for member in members:
        memory.add_to_agent(member)
    group = GroupChat(
        agents=[user, *members],
        messages=[],
        max_round=4,
        speaker_selection_method="round_robin",
    )
    chat(user, GroupChatManager(group, silent=True), QUESTION, is_async=is_async)
    memory.flush(agent=members[0])
    assert sorted(sent(memory_server)) == sorted(
        [
            f"human: {QUESTION}",
            "ai: one thinks so too",
            "ai: two thinks so too",
            "ai: three thinks so too",
        ]
    )


@both_kinds
def test_a_message_that_is_answered_twice_is_written_once(
    memory_server: DevServer, memory: MemorySyncCapability, is_async: bool
) -> None:
    agent = planner(memory, "first try", "second try")
    user = person()
    chat(user, agent, QUESTION, is_async=is_async, max_turns=1)
    messages = agent.chat_messages[user][:1]
    if is_async:
        asyncio.run(agent.a_generate_reply(messages=messages, sender=user))
    else:
        agent.generate_reply(messages=messages, sender=user)
    memory.flush()
    assert sent(memory_server).count(f"human: {QUESTION}") == 1


def test_a_group_that_resumes_writes_nothing_again(
    memory_server: DevServer, memory: MemorySyncCapability
) -> None:
    agent = planner(memory, ANSWER, "the same way back")

    def run(messages: Any) -> Any:
        pattern = RoundRobinPattern(
            initial_agent=agent, agents=[agent], group_manager_args={"silent": True}
        )
        return initiate_group_chat(pattern=pattern, messages=messages, max_rounds=2)[0]

    history = copy.deepcopy(run(QUESTION).chat_history)
    run([*history, {"role": "user", "content": "and how do I get back?"}])
    memory.flush()
    assert sent(memory_server) == [
        f"human: {QUESTION}",
        f"ai: {ANSWER}",
        "human: and how do I get back?",
        "ai: the same way back",
    ]


def test_a_trimmed_history_loses_nothing(
    memory_server: DevServer, memory: MemorySyncCapability
) -> None:
    agent = planner(memory)
    user = person()
    for number in range(5):
        chat(user, agent, f"this is question number {number}", max_turns=1, clear_history=False)
        agent.clear_history(nr_messages_to_preserve=1)
    memory.flush()
    asked = [text for text in sent(memory_server) if text.startswith("human")]
    assert asked == [f"human: this is question number {number}" for number in range(5)]


@pytest.mark.parametrize("clear_history", [True, False], ids=["new-chat", "same-chat"])
def test_a_persons_words_said_again_on_purpose_are_kept_twice(
    memory_server: DevServer, memory: MemorySyncCapability, clear_history: bool
) -> None:
    agent = planner(memory)
    user = person()
    for _ in range(2):
        chat(user, agent, QUESTION, max_turns=1, clear_history=clear_history)
    memory.flush()
    assert sent(memory_server).count(f"human: {QUESTION}") == 2
    assert len(memory_server.items("ada", fate=Fate.STORED)) == 2


def test_the_same_words_of_another_user_or_session_are_their_own(
    memory_server: DevServer, memory: MemorySyncCapability
) -> None:
    agent = planner(memory)
    for scope in ({}, {"user_id": "bob"}, {"session_id": "s2"}):
        with memory.scope(**scope):
            chat(person(), agent, QUESTION, max_turns=1)
    memory.flush()
    assert sent(memory_server, "ada").count(f"human: {QUESTION}") == 2
    assert sent(memory_server, "bob").count(f"human: {QUESTION}") == 1


def test_a_short_prompt_is_kept_and_not_recalled_for(
    memory_server: DevServer, memory: MemorySyncCapability
) -> None:
    chat(person(), planner(memory, "hello"), "hey you", max_turns=1)
    memory.flush()
    assert f"human: {'hey you'}" in sent(memory_server)
    assert memory_server.requests(Route.MEMORYSYNC_RECALL) == ()


FAULTS = [
    Fault("hang", "*"),
    Fault("delay", "*", delay_s=5.0),
    Fault("drip", "*", interval_s=0.2),
    Fault("reset", "*"),
    Fault("reset_body", "*"),
    Fault("status", "*", status=500),
    Fault("status", "*", status=401),
    Fault("status", "*", status=429, retry_after_s=1.0),
    Fault("malformed", "*"),
    Fault("huge", "*", size_bytes=4 * 1024 * 1024),
    Fault("silent_quota", "*"),
    Fault("strict_quota", "*"),
]


@both_kinds
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind}-{fault.status}")
def test_an_agent_answers_whatever_the_service_does(
    memory_server: DevServer, is_async: bool, fault: Fault
) -> None:
    memory_server.faults.set(fault)
    memory = capability(memory_server, recall_timeout=0.3, exit_drain_timeout=0.0)
    agent, model = assistant("planner", ANSWER)
    memory.add_to_agent(agent)
    started = time.monotonic()
    result = chat(person(), agent, QUESTION, is_async=is_async, max_turns=1)
    took = time.monotonic() - started
    memory.close(timeout=0.1)
    assert result.chat_history[-1]["content"] == ANSWER
    assert model.seen[0][1]["content"] == QUESTION
    assert took < 2.0, "the budget is 0.3 s; the rest is room for a busy machine"


def test_recall_in_an_asynchronous_chat_leaves_the_loop_free(memory_server: DevServer) -> None:
    memory_server.faults.set(Fault("delay", "recalls", delay_s=0.5))
    memory = capability(memory_server)
    agent = planner(memory, ANSWER)
    gaps: list[float] = []

    async def watch() -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.005)
            gaps.append(time.monotonic() - last)
            last = time.monotonic()

    async def run() -> None:
        watching = asyncio.create_task(watch())
        await person().a_initiate_chat(agent, message=QUESTION, max_turns=1, silent=True)
        watching.cancel()

    asyncio.run(run())
    memory.close()
    assert len(gaps) > 20
    assert max(gaps) < 0.3, "a blocking recall would be a gap of 0.5 s"


@both_kinds
def test_rekall_serves_an_agent_too(memory_server: DevServer, is_async: bool) -> None:
    with RekallCapability(
        api_url=memory_server.url, api_key="rk_test", recall_timeout=5.0
    ) as memory:
        memory.save("Ada drinks oolong tea in the morning")
        agent, model = assistant("planner", ANSWER)
        memory.add_to_agent(agent)
        chat(person(), agent, "what do I drink in the morning?", is_async=is_async, max_turns=1)
        assert memory.flush().pending == 0
    assert "oolong tea" in model.shown()
    assert model.seen[0][1]["content"].startswith("Relevant memories (Rekall):\n")
    assert len(memory_server.requests(Route.REKALL_CREATE)) == 3


def test_a_full_outbox_that_raises_does_not_raise_into_a_chat(
    memory_server: DevServer, caplog: pytest.LogCaptureFixture
) -> None:
    memory_server.faults.set(Fault("hang", "writes"))
    memory = capability(memory_server, outbox_max_writes=1, on_full="raise", exit_drain_timeout=0.0)
    agent = planner(memory, ANSWER)
    result = chat(person(), agent, QUESTION, max_turns=3)
    memory.close(timeout=0.1)
    assert len(result.chat_history) == 6
    assert any("OutboxFullError" in record.getMessage() for record in caplog.records)
