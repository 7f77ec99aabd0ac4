"""Two frameworks by two services, and AutoGen's successor: what all their memories do alike."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from ag2_chats import chat, person, stored_texts
from ag2_model import assistant
from agent_framework_model import ScriptedClient, agent_of
from autogen_agentchat.agents import AssistantAgent
from scripted_model import ScriptedModel, text_seen

from memotel.ag2 import MemorySyncCapability, RekallCapability
from memotel.agent_framework import MemoryContextProvider
from memotel.autogen import MemorySyncMemory, RekallMemory
from memotel.devserver import DevServer
from memotel.testing import SetFault
from memotel.values import FlushReport

FACT = "I drink green tea every morning"
QUESTION = "What do I drink every morning?"
QUESTIONS = [QUESTION, f"Once more: {QUESTION}", f"And again: {QUESTION}"]


@dataclass
class Conversation:
    """What one agent said and was shown, and what stands in its history afterwards."""

    answers: list[str]
    shown: list[str]
    history: str


@dataclass
class Corner:
    """One memory: how to hold a conversation with it, and how to wait for its writes."""

    converse: Callable[[list[str], list[str]], Conversation]
    flush: Callable[[], FlushReport]


Settings = dict[str, Any]


def through_ag2(memory: MemorySyncCapability | RekallCapability) -> Corner:
    def converse(said: list[str], answers: list[str]) -> Conversation:
        agent, model = assistant("helper", *answers)
        memory.add_to_agent(agent)
        ada = person()
        for index, text in enumerate(said):
            chat(ada, agent, text, max_turns=1, clear_history=index == 0)
        shown = [model.shown(call) for call in range(len(model.seen))]
        replies = [str(m["content"]) for m in ada.chat_messages[agent] if m["role"] == "user"]
        return Conversation(replies, shown, "\n".join(stored_texts(agent, ada)))

    return Corner(converse, lambda: memory.flush(20))


def through_autogen(memory: MemorySyncMemory | RekallMemory) -> Corner:
    def converse(said: list[str], answers: list[str]) -> Conversation:
        model = ScriptedModel(list(answers))
        agent = AssistantAgent("helper", model, memory=[memory])

        async def run() -> list[str]:
            return [(await agent.run(task=text)).messages[-1].to_text() for text in said]

        replies = asyncio.run(run())
        state = str(asyncio.run(agent.save_state()))
        return Conversation(replies, [text_seen(seen) for seen in model.seen], state)

    return Corner(converse, lambda: memory.flush(20))


def through_agent_framework(memory: MemoryContextProvider) -> Corner:
    def converse(said: list[str], answers: list[str]) -> Conversation:
        client = ScriptedClient(*answers)
        agent = agent_of(client, memory)
        session = agent.create_session(session_id="chat")

        async def run() -> list[str]:
            return [(await agent.run(text, session=session)).text for text in said]

        replies = asyncio.run(run())
        return Conversation(replies, client.seen, str(session.to_dict()))

    return Corner(converse, lambda: memory.flush(20))


def ag2_memory_sync(url: str, settings: Settings) -> Corner:
    memory = MemorySyncCapability(user_id="ada", api_key="k", base_url=url, **settings)
    return through_ag2(memory)


def ag2_rekall(url: str, settings: Settings) -> Corner:
    return through_ag2(RekallCapability(api_key="rk_k", api_url=url, **settings))


def autogen_memory_sync(url: str, settings: Settings) -> Corner:
    memory = MemorySyncMemory("ada", "k", base_url=url, capture="both", **settings)
    return through_autogen(memory)


def autogen_rekall(url: str, settings: Settings) -> Corner:
    return through_autogen(RekallMemory(url, "rk_k", capture="both", **settings))


def agent_framework_memory_sync(url: str, settings: Settings) -> Corner:
    memory = MemoryContextProvider("memorysync", "ada", api_key="k", url=url, **settings)
    return through_agent_framework(memory)


def agent_framework_rekall(url: str, settings: Settings) -> Corner:
    memory = MemoryContextProvider("rekall", api_key="rk_k", url=url, **settings)
    return through_agent_framework(memory)


CORNERS = [
    ag2_memory_sync,
    ag2_rekall,
    autogen_memory_sync,
    autogen_rekall,
    agent_framework_memory_sync,
    agent_framework_rekall,
]
MakeCorner = Callable[..., Corner]


@pytest.fixture(params=CORNERS, ids=lambda make: make.__name__)
def make_corner(request: pytest.FixtureRequest, memory_server: DevServer) -> Iterator[MakeCorner]:
    corners: list[Corner] = []

    def make(**settings: Any) -> Corner:
        corner: Corner = request.param(memory_server.url, {"recall_timeout": 10.0, **settings})
        corners.append(corner)
        return corner

    yield make
    for corner in corners:
        corner.flush()


def said(server: DevServer) -> Counter[str]:
    """What was written, as the words that were said; each must have arrived once."""
    items = server.items(fate=None)
    assert [item.deliveries for item in items] == [1] * len(items)
    return Counter(item.text.removeprefix("human: ").removeprefix("ai: ") for item in items)


def test_later_conversation_is_shown_what_an_earlier_one_said(make_corner: MakeCorner) -> None:
    monday = make_corner(session_id="monday")
    monday.converse([FACT], ["Noted, thank you."])
    assert monday.flush().pending == 0
    tuesday = make_corner(session_id="tuesday")
    conversation = tuesday.converse([QUESTION], ["Green tea."])
    assert FACT in conversation.shown[0]


def test_both_sides_are_written_once(make_corner: MakeCorner, memory_server: DevServer) -> None:
    corner = make_corner(session_id="monday")
    corner.converse([FACT, "I keep seven hives of bees"], ["Noted, thank you.", "Noted as well."])
    report = corner.flush()
    assert (report.pending, report.failed) == (0, 0)
    assert said(memory_server) == {
        FACT: 1,
        "Noted, thank you.": 1,
        "I keep seven hives of bees": 1,
        "Noted as well.": 1,
    }


def test_history_holds_no_memory(make_corner: MakeCorner) -> None:
    monday = make_corner(session_id="monday")
    monday.converse([FACT], ["Noted, thank you."])
    monday.flush()
    corner = make_corner(session_id="tuesday")
    conversation = corner.converse(QUESTIONS, ["Tea.", "Green tea.", "As I said."])
    assert all(FACT in shown for shown in conversation.shown)
    assert QUESTION in conversation.history
    assert FACT not in conversation.history


def test_agent_answers_during_an_outage_and_nothing_is_lost(
    make_corner: MakeCorner, memory_server: DevServer, fault: SetFault
) -> None:
    fault("status", on="*", status=503)
    corner = make_corner(session_id="monday", recall_timeout=0.3)
    conversation = corner.converse([FACT], ["Noted, thank you."])
    assert conversation.answers == ["Noted, thank you."]
    memory_server.faults.clear()
    assert corner.flush().pending == 0
    assert said(memory_server)[FACT] == 1


def test_same_words_of_another_user_are_another_write(memory_server: DevServer) -> None:
    for user in ("ada", "bob"):
        for make in (
            through_ag2(
                MemorySyncCapability(user_id=user, api_key="k", base_url=memory_server.url)
            ),
            through_autogen(
                MemorySyncMemory(user, "k2", base_url=memory_server.url, capture="user")
            ),
        ):
            make.converse([FACT], ["Noted, thank you."])
            assert make.flush().pending == 0
    assert said(memory_server)[FACT] == 4


@pytest.mark.parametrize(
    "memory", [MemorySyncCapability, RekallCapability, MemorySyncMemory, RekallMemory]
)
def test_class_of_a_service_is_little_more_than_its_signature(memory: type) -> None:
    """What it does stands once, in the framework's own half."""
    methods = {name for name, value in vars(memory).items() if callable(value)}
    methods -= {"component_config_schema"}
    assert methods - {"_as_raised"} == {"__init__"}
