"""What every adapter says to a wrong argument: which one it is, and what is allowed."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from ag2_model import assistant
from autogen_core.memory import MemoryContent, MemoryMimeType

import ag2_memorysync
import rekall_autogen
from memotel import ConfigurationError, InvalidRequestError, ag2, ag2_v1, agent_framework, autogen

KEY = {"api_key": "rk_hush"}
Made = Callable[..., object]


def provider_of(service: str) -> Made:
    def make(user_id: Any = "ada", **given: Any) -> object:
        return agent_framework.MemoryContextProvider(service, user_id, **given)  # type: ignore[arg-type] # either name

    return make


MEMORYSYNC: list[Made] = [
    ag2.MemorySyncCapability,
    ag2_v1.MemorySyncMemory,
    autogen.MemorySyncMemory,
    provider_of("memorysync"),
]
REKALL: list[Made] = [ag2.RekallCapability, ag2_v1.RekallMemory, provider_of("rekall")]


def named(value: object) -> str:
    """Name a parameter of a test, the same in every process."""
    return str(getattr(value, "__qualname__", value))


@pytest.mark.parametrize("make", MEMORYSYNC, ids=["ag2", "ag2_v1", "autogen", "agent_framework"])
@pytest.mark.parametrize("user", ["", " ", None, 7], ids=repr)
def test_memorysync_needs_the_id_of_a_user(make: Made, user: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make(user, **KEY)
    assert str(caught.value) == f"user_id must be a text that is not empty, not {user!r}"


@pytest.mark.parametrize("make", REKALL, ids=["ag2", "ag2_v1", "agent_framework"])
@pytest.mark.parametrize("user", [None, 7], ids=repr)
def test_user_of_rekall_that_is_no_text_is_refused_not_taken_for_nobody(
    make: Made, user: object
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make(user, **KEY)
    assert str(caught.value) == f"user_id must be a text, not {user!r}"


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (
            MEMORYSYNC[0],
            {"api_url": "http://localhost:1"},
            "memorysync here: its address is base_url",
        ),
        (
            MEMORYSYNC[2],
            {"api_url": "http://localhost:1"},
            "memorysync here: its address is base_url",
        ),
        (REKALL[0], {"base_url": "http://localhost:1"}, "rekall here: its address is api_url"),
        (REKALL[1], {"recal_timeout": 1}, "did you mean recall_timeout?"),
        (MEMORYSYNC[3], {"base_url": "http://localhost:1"}, "memorysync here: its address is url"),
        (REKALL[1], {"capture": "both"}, "capture is not a setting here; the settings are "),
        (REKALL[2], {"source_id": ""}, "source_id must be a text that is not empty, not ''"),
        (REKALL[2], {"context_template": ""}, "context_template must be a text that holds"),
        (REKALL[0], {"write_timeout": 0}, "write_timeout must be a number of seconds above 0"),
    ],
    ids=named,
)
def test_wrong_argument_is_answered_with_the_right_one(
    make: Made, given: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make("ada", **KEY, **given)
    assert message in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "tools_of",
    [rekall_autogen.create_memory_tools, agent_framework.create_memory_tools],
    ids=["autogen", "agent_framework"],
)
def test_tools_of_what_is_no_memory_are_refused_at_once(
    tools_of: Callable[[Any], object],
) -> None:
    with pytest.raises(TypeError, match=r"memory must be .*, not an int"):
        tools_of(7)


def test_tools_need_agents_and_a_memory() -> None:
    agent, _ = assistant("planner")
    memory = ag2.RekallCapability(**KEY)  # type: ignore[arg-type] # the key alone
    register: Any = ag2_memorysync.register_memory_tools

    with pytest.raises(TypeError, match="caller must be an AG2 ConversableAgent, not an int"):
        register(memory, caller=7, executor=agent)
    with pytest.raises(TypeError, match="executor must be an AG2 ConversableAgent, not a str"):
        register(memory, caller=agent, executor="planner")
    with pytest.raises(TypeError, match=r"memory must be one of memotel's, not a dict"):
        register({}, caller=agent, executor=agent)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("I like tea", "content must be a MemoryContent, not a str"),
        (7, "content must be a MemoryContent, not an int"),
        (
            MemoryContent(content=" ", mime_type=MemoryMimeType.TEXT),
            "content must be a text that is not empty",
        ),
    ],
)
def test_autogen_add_names_what_it_cannot_keep(content: Any, message: str) -> None:
    with rekall_autogen.RekallMemory(api_url="http://127.0.0.1:1", **KEY) as memory:  # type: ignore[arg-type] # the key alone
        with pytest.raises(InvalidRequestError) as caught:
            asyncio.run(memory.add(content))
        assert memory.client.stats().totals.accepted == 0
    assert str(caught.value) == message
