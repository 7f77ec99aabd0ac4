"""AG2 chats that are resumed, answered again or told to several memories: each utterance is one write."""

import asyncio
import copy
from collections.abc import Iterator
from typing import Any

import pytest
from ag2_chats import chat, person
from ag2_model import assistant
from talks import deliveries, kept

from autogen import ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent
from memotel.ag2 import MemorySyncCapability
from memotel.devserver import DevServer

FACT = "I keep seven hives of bees behind the house"
NAMES = ("one", "two", "three")
both_kinds = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def capability(server: DevServer, **options: Any) -> MemorySyncCapability:
    settings = {"user_id": "ada", "session_id": "s1", "api_key": "k", "recall_timeout": 30.0}
    return MemorySyncCapability(base_url=server.url, **{**settings, **options})


@pytest.fixture
def memory(memory_server: DevServer) -> Iterator[MemorySyncCapability]:
    with capability(memory_server) as made:
        yield made


class Group:
    """A person and three agents with one memory."""

    def __init__(self, memory: MemorySyncCapability, *, rounds: int = 4) -> None:
        self.memory = memory
        self.user = UserProxyAgent("ada", human_input_mode="NEVER", code_execution_config=False)
        self.members = [assistant(name, f"{name} likes honey")[0] for name in NAMES]
        for member in self.members:
            memory.add_to_agent(member)
        self.chat = GroupChat(
            agents=[self.user, *self.members],
            messages=[],
            max_round=rounds,
            speaker_selection_method="round_robin",
        )
        self.manager = GroupChatManager(self.chat, silent=True)

    def say(self, text: str, *, is_async: bool, clear_history: bool = True) -> None:
        chat(self.user, self.manager, text, is_async=is_async, clear_history=clear_history)

    def flush(self) -> None:
        assert self.memory.flush(30.0, agent=self.members[0]).pending == 0


def once(*texts: str) -> dict[str, int]:
    return dict.fromkeys(texts, 1)


@both_kinds
def test_persons_words_said_again_in_a_group_are_two_and_the_agents_one(
    memory_server: DevServer, memory: MemorySyncCapability, is_async: bool
) -> None:
    for _ in range(2):
        group = Group(memory)
        group.say(FACT, is_async=is_async)
        group.flush()
    expected = {**once(*(f"{name} likes honey" for name in NAMES)), FACT: 2}
    assert kept(memory_server) == deliveries(memory_server) == expected


@both_kinds
def test_group_that_its_manager_resumes_with_agents_made_anew_writes_nothing_again(
    memory_server: DevServer, memory: MemorySyncCapability, is_async: bool
) -> None:
    first = Group(memory)
    first.say(FACT, is_async=is_async)
    first.flush()
    before = kept(memory_server)
    assert before[FACT] == 1
    history = copy.deepcopy(first.chat.messages)

    second = Group(memory, rounds=5)
    if is_async:
        opener, message = asyncio.run(second.manager.a_resume(messages=history))
    else:
        opener, message = second.manager.resume(messages=history)
    chat(opener, second.manager, message["content"], is_async=is_async, clear_history=False)
    second.flush()
    assert kept(memory_server) == deliveries(memory_server) == before


@both_kinds
def test_two_agent_chat_that_is_resumed_with_its_history_writes_nothing_again(
    memory_server: DevServer, memory: MemorySyncCapability, is_async: bool
) -> None:
    first, _ = assistant("helper", "How many bees is that?", "That is a lot of bees.")
    memory.add_to_agent(first)
    ada = person(says="Some fifty thousand in each hive")
    chat(ada, first, FACT, is_async=is_async, max_turns=2)
    memory.flush(30.0)
    before = kept(memory_server)
    assert len(before) == 4

    second, _ = assistant("helper", "So it is.")
    memory.add_to_agent(second)
    again = person(says="none")
    for agent, partner, old, other in ((second, again, first, ada), (again, second, ada, first)):
        agent.chat_messages[partner] = copy.deepcopy(old.chat_messages[other])
    chat(
        again,
        second,
        "It is a lot of honey too",
        is_async=is_async,
        max_turns=1,
        clear_history=False,
    )
    memory.flush(30.0)
    expected = {**before, **once("It is a lot of honey too", "So it is.")}
    assert kept(memory_server) == deliveries(memory_server) == expected


@both_kinds
def test_two_memories_of_one_account_on_both_sides_write_an_utterance_once(
    memory_server: DevServer, is_async: bool
) -> None:
    with capability(memory_server) as one, capability(memory_server) as other:
        agent, _ = assistant("helper", "How many bees is that?", "That is a lot of bees.")
        one.add_to_agent(agent)
        ada = UserProxyAgent(
            "ada",
            human_input_mode="NEVER",
            default_auto_reply="Guess!",
            code_execution_config=False,
        )
        other.add_to_agent(ada)
        chat(ada, agent, FACT, is_async=is_async, max_turns=2)
        for memory in (one, other):
            assert memory.flush(30.0).pending == 0
    expected = once(FACT, "How many bees is that?", "Guess!", "That is a lot of bees.")
    assert kept(memory_server) == deliveries(memory_server) == expected


@both_kinds
def test_message_that_is_answered_again_is_one_write_and_each_answer_is_one(
    memory_server: DevServer, memory: MemorySyncCapability, is_async: bool
) -> None:
    agent, _ = assistant("helper", "first try", "second try", "third try")
    memory.add_to_agent(agent)
    ada = person()
    chat(ada, agent, FACT, is_async=is_async, max_turns=1)
    for _ in range(2):
        _take_back(ada, agent)
        _answer_again(agent, ada, is_async=is_async)
    memory.flush(30.0)
    expected = once(FACT, "first try", "second try", "third try")
    assert kept(memory_server) == deliveries(memory_server) == expected


def _take_back(ada: ConversableAgent, agent: ConversableAgent) -> None:
    """Delete the agent's answer on both sides, as a "regenerate" button does."""
    for one, other in ((ada, agent), (agent, ada)):
        del one.chat_messages[other][-1]


def _answer_again(agent: ConversableAgent, ada: ConversableAgent, *, is_async: bool) -> None:
    async def answer() -> None:
        reply = await agent.a_generate_reply(sender=ada)
        await agent.a_send(reply or "", ada, request_reply=False, silent=True)

    if is_async:
        asyncio.run(answer())
    else:
        agent.send(agent.generate_reply(sender=ada) or "", ada, request_reply=False, silent=True)


@both_kinds
def test_history_that_is_trimmed_in_a_group_loses_nothing(
    memory_server: DevServer, memory: MemorySyncCapability, is_async: bool
) -> None:
    group = Group(memory)
    said = [f"{FACT}, and that is fact number {number}" for number in range(4)]
    for text in said:
        group.say(text, is_async=is_async, clear_history=False)
        for member in group.members:
            member.clear_history(nr_messages_to_preserve=1)
    group.flush()
    found = kept(memory_server)
    assert {text: found[text] for text in said} == once(*said)
    assert found == deliveries(memory_server)
