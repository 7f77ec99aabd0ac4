"""The order of reply functions: right after every change, stable where nothing changed, for each kind of function."""

import copy
import functools
from typing import Any

import pytest
from ag2_chats import chat, person
from ag2_memory import HEAD, RecordingClient, memory_on
from ag2_model import assistant
from hypothesis import given, settings
from hypothesis import strategies as st

from autogen import ConversableAgent, UserProxyAgent
from memotel.ag2.framework import reply_entries
from memotel.ag2.replies import is_seam, may_see_memory

QUESTION = "what do I like to drink?"


@pytest.fixture
def client() -> RecordingClient:
    return RecordingClient()


def look(recipient: Any, messages: Any, sender: Any, config: Any) -> tuple[bool, None]:
    del recipient, messages, sender, config
    return False, None


async def a_look(recipient: Any, messages: Any, sender: Any, config: Any) -> tuple[bool, None]:
    return look(recipient, messages, sender, config)


def assert_right(agent: ConversableAgent) -> None:
    """Memory is shown before each function that may see it, and gone before each other one."""
    is_open = False
    for entry in agent._reply_func_list:
        name = entry["reply_func"].__name__
        if is_seam(entry):
            is_open = "recall" in name
        else:
            assert may_see_memory(agent, entry) is is_open, name


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=6), st.integers(0, 6))
def test_the_order_is_right_whatever_is_registered_when(
    registered: list[tuple[int, bool]], attach_after: int
) -> None:
    agent, _ = assistant("planner")
    memory = memory_on(RecordingClient())
    for number, (position, is_async) in enumerate([*registered, (0, False)]):
        if number == attach_after:
            memory.add_to_agent(agent)
        agent.register_reply(
            [ConversableAgent, None],
            a_look if is_async else look,
            position=position,
            ignore_async_in_sync_chat=True,
        )
    memory.add_to_agent(agent)
    assert_right(agent)
    arranged = reply_entries(agent)
    memory.add_to_agent(agent)
    assert reply_entries(agent) is arranged


def test_an_agent_without_model_and_functions_of_its_own_is_not_recalled_for(
    client: RecordingClient,
) -> None:
    user = UserProxyAgent("ada", human_input_mode="NEVER", code_execution_config=False)
    memory_on(client).add_to_agent(user)
    assert not any(is_seam(entry) for entry in user._reply_func_list)
    chat(person(), user, QUESTION, max_turns=1)
    assert client.asked == []


def test_a_function_for_another_sender_is_not_recalled_for(client: RecordingClient) -> None:
    agent = ConversableAgent("own", human_input_mode="NEVER", llm_config=False)
    memory_on(client).add_to_agent(agent)
    agent.register_reply("bob", look, position=0)
    chat(person("ada"), agent, QUESTION, max_turns=1)
    assert client.asked == []
    chat(person("bob"), agent, QUESTION, max_turns=1)
    assert len(client.asked) == 1


def test_a_trigger_that_fails_fails_as_it_does_without_memory(client: RecordingClient) -> None:
    agent = ConversableAgent("own", human_input_mode="NEVER", llm_config=False)
    agent.register_reply("bob", look, position=0)
    messages = [{"role": "user", "content": QUESTION}]
    with pytest.raises(Exception) as without:  # noqa: PT011 # AG2's own error, whatever it is
        agent.generate_reply(messages=messages)
    memory_on(client).add_to_agent(agent)
    with pytest.raises(type(without.value)):
        agent.generate_reply(messages=messages)
    assert client.asked == []


def test_a_conversation_without_a_question_is_not_recalled_for(client: RecordingClient) -> None:
    agent, model = assistant("planner")
    memory_on(client).add_to_agent(agent)
    messages = [{"role": "assistant", "content": "I said something"}]
    assert agent.generate_reply(messages=messages) == "done 1"
    assert client.asked == []
    assert HEAD not in model.shown()


def test_an_asynchronous_function_and_a_partial_are_shown_memory(client: RecordingClient) -> None:
    agent = ConversableAgent("own", human_input_mode="NEVER", llm_config=False)
    memory_on(client).add_to_agent(agent)
    seen: list[str] = []

    async def own(prefix: str, recipient: Any, messages: Any, sender: Any, config: Any) -> Any:
        del recipient, sender, config
        seen.append(prefix + messages[-1]["content"])
        return True, "answered"

    function = functools.partial(own, "> ")
    function.__name__ = "own"  # type: ignore[attr-defined] # a Callable by its type
    agent.register_reply([ConversableAgent, None], function, ignore_async_in_sync_chat=True)
    result = chat(person(), agent, QUESTION, is_async=True, max_turns=1)
    assert result.chat_history[-1]["content"] == "answered"
    assert seen[0].startswith(f"> {HEAD}")
    assert client.asked[0].kind == "async"


def test_the_order_of_a_copy_is_its_own(client: RecordingClient) -> None:
    agent, _ = assistant("planner")
    memory_on(client).add_to_agent(agent)
    twin = copy.deepcopy(agent)
    agent.register_reply([ConversableAgent, None], look, position=0)
    chat(person(), agent, QUESTION, max_turns=1)
    chat(person(), twin, QUESTION, max_turns=1)
    assert_right(agent)
    assert_right(twin)
    assert len(agent._reply_func_list) == len(twin._reply_func_list) + 4
    shallow = copy.copy(agent)
    chat(person(), shallow, QUESTION, max_turns=1)
    assert_right(shallow)
    assert_right(agent)


def test_a_model_that_is_called_around_the_reply_functions_is_said_once(
    client: RecordingClient, caplog: pytest.LogCaptureFixture
) -> None:
    agent, _ = assistant("planner")
    memory_on(client).add_to_agent(agent)
    chat(person(), agent, QUESTION, max_turns=2)
    client.context = ""
    chat(person(), agent, QUESTION, max_turns=2)
    assert [record for record in caplog.records if record.name == "memotel.ag2"] == []
    for _ in range(2):
        agent.generate_oai_reply(messages=[{"role": "user", "content": QUESTION}])
    said = [record.getMessage() for record in caplog.records if record.name == "memotel.ag2"]
    assert len(said) == 1
    assert "A2A" in said[0]


def test_a_lock_that_was_inherited_by_a_fork_is_not_waited_for(client: RecordingClient) -> None:
    persistence = memory_on(client)._persistence
    inherited = persistence._alone()
    persistence._pid = -1
    assert persistence._alone() is not inherited
    assert persistence._alone() is persistence._alone()


@pytest.mark.parametrize(
    "client",
    [RecordingClient(), RecordingClient(context=""), RecordingClient(error=RuntimeError("broken"))],
    ids=["hit", "empty", "failing"],
)
def test_an_asynchronous_chat_is_recalled_for_once_and_never_synchronously(
    client: RecordingClient,
) -> None:
    agent, _ = assistant("planner")
    memory_on(client).add_to_agent(agent)
    chat(person(), agent, QUESTION, is_async=True, max_turns=1)
    assert [asked.kind for asked in client.asked] == ["async"]


def test_every_kind_of_sender_is_told_apart_by_the_triggers_behind(client: RecordingClient) -> None:
    agent = ConversableAgent("own", human_input_mode="NEVER", llm_config=False)
    memory_on(client).add_to_agent(agent)
    agent.register_reply(UserProxyAgent, look, position=0)
    user = UserProxyAgent("bob", human_input_mode="NEVER", code_execution_config=False)
    for _ in range(2):
        chat(person("ada"), agent, QUESTION, max_turns=1)
        assert client.asked == []
    for turn in range(2):
        chat(user, agent, QUESTION, max_turns=1)
        assert len(client.asked) == turn + 1


def test_a_list_of_triggers_may_be_changed_in_place(client: RecordingClient) -> None:
    agent = ConversableAgent("own", human_input_mode="NEVER", llm_config=False)
    inner: list[Any] = [UserProxyAgent]
    triggers: list[Any] = [inner]
    memory_on(client).add_to_agent(agent)
    agent.register_reply(triggers, look, position=0)
    expected = 0
    for change, is_asked in [
        (lambda: None, False),
        (lambda: triggers.append("ada"), True),
        (lambda: triggers.remove("ada"), False),
        (lambda: inner.append(ConversableAgent), True),
        (inner.clear, False),
    ]:
        change()
        chat(person("ada"), agent, QUESTION, max_turns=1)
        expected += is_asked
        assert len(client.asked) == expected
