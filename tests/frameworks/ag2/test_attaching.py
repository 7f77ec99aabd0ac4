"""Adding a memory to agents, leaving again, scopes, and the last message of a chat."""

import asyncio
import copy
import sys
import threading
from typing import Any

import pytest
from ag2_chats import chat, person, stored_texts
from ag2_memory import RecordingClient, memory_on
from ag2_model import assistant

from autogen import ConversableAgent, UserProxyAgent
from memotel.ag2.base import Capability
from memotel.ag2.hooks import Hooks
from memotel.ag2.seam import Seam
from memotel.errors import ConfigurationError

QUESTION = "please plan my trip to Oslo"
both_kinds = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture
def client() -> RecordingClient:
    return RecordingClient()


@pytest.fixture
def memory(client: RecordingClient) -> Capability:
    return memory_on(client)


class Hookable:
    """The smallest thing that takes hooks."""

    def register_hook(self, hookable_method: str, hook: object) -> None:
        """Take a hook and forget it."""


def shape(agent: ConversableAgent) -> tuple[Any, ...]:
    """What an agent is made of, as far as a capability could touch it."""
    return (
        {name: list(hooks) for name, hooks in agent.hook_lists.items()},
        [(e["reply_func"], e["trigger"], e["config"]) for e in agent._reply_func_list],
        agent.system_message,
    )


def test_hooks_are_registered_once_however_often_it_is_added(memory: Capability) -> None:
    agent, _ = assistant("planner")
    for _ in range(3):
        memory.add_to_agent(agent)
    for name in ("process_last_received_message", "process_message_before_send"):
        assert len(agent.hook_lists[name]) == 1
    names = [entry["reply_func"].__name__ for entry in agent._reply_func_list]
    assert len([name for name in names if name.startswith("memotel_recall")]) == 1


def test_flush_and_close_while_agents_are_added_and_collected(
    memory: Capability, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Seam, "arrange", lambda self, agent: None)
    hooks = memory._hooks
    faults: list[Exception] = []
    kept: list[Hookable] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            try:
                assert all(isinstance(agent, Hookable) for agent in hooks.agents)
            except Exception as error:  # noqa: BLE001 # whatever it is, there is to be none
                faults.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(3_000):
            agent = Hookable()
            hooks.add_to(agent)
            if number % 2:
                kept.append(agent)
    finally:
        is_over.set()
        reader.join()
        sys.setswitchinterval(before)
    del agent
    assert faults == []
    assert len(hooks.agents) == len(kept)


def test_close_does_not_raise_where_its_agents_cannot_be_listed(
    memory: Capability, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object) -> list[object]:
        raise RuntimeError("Set changed size during iteration")

    monkeypatch.setattr(Hooks, "agents", property(fail))
    memory.flush(0.1)
    memory.close()


def test_the_hook_on_the_last_message_returns_it_as_it_came(memory: Capability) -> None:
    agent, _ = assistant("planner")
    memory.add_to_agent(agent)
    (hook,) = agent.hook_lists["process_last_received_message"]
    parts = [{"type": "text", "text": "hi"}]
    assert hook("what do I like?") == "what do I like?"
    assert hook(parts) is parts


def test_the_hook_before_sending_returns_the_message_as_it_came(memory: Capability) -> None:
    agent, _ = assistant("planner")
    memory.add_to_agent(agent)
    (hook,) = agent.hook_lists["process_message_before_send"]
    for message in ("hello", {"content": "hello", "role": "assistant"}):
        found = hook(sender=agent, message=message, recipient=person(), silent=True)
        assert found is message


def test_anything_with_register_hook_can_have_memory_and_is_asked_once(memory: Capability) -> None:
    class Homemade:
        def __init__(self) -> None:
            self.registered: list[str] = []

        def register_hook(self, hookable_method: str, hook: Any) -> None:
            assert callable(hook)
            self.registered.append(hookable_method)

    agent = Homemade()
    memory.add_to_agent(agent)
    memory.add_to_agent(agent)
    assert agent.registered.count("process_last_received_message") == 1
    assert agent.registered.count("process_message_before_send") == 1
    memory.remove_from_agent(agent)


@pytest.mark.parametrize("thing", [object(), None, "agent", 7])
def test_a_thing_without_hooks_is_refused_by_name(memory: Capability, thing: object) -> None:
    with pytest.raises(TypeError, match="register_hook"):
        memory.add_to_agent(thing)


@both_kinds
def test_leaving_restores_the_agent(
    memory: Capability, client: RecordingClient, is_async: bool
) -> None:
    agent, model = assistant("planner")
    agent.register_reply([ConversableAgent, None], lambda *_, **__: (False, None), position=0)
    before = shape(agent)
    memory.add_to_agent(agent)
    assert shape(agent) != before
    chat(person(), agent, QUESTION, is_async=is_async, max_turns=1)
    memory.remove_from_agent(agent)
    memory.remove_from_agent(agent)
    assert shape(agent) == before
    asked, kept = len(client.asked), len(client.turns)
    chat(person(), agent, QUESTION, is_async=is_async, max_turns=1)
    memory.flush(agent=agent)
    assert (len(client.asked), len(client.turns)) == (asked, kept)
    assert len(model.seen) == 2


def test_leaving_leaves_another_memory_in_place(memory: Capability) -> None:
    agent, model = assistant("planner")
    other = RecordingClient(context="lives in Oslo")
    memory.add_to_agent(agent)
    memory_on(other).add_to_agent(agent)
    memory.remove_from_agent(agent)
    chat(person(), agent, QUESTION, max_turns=1)
    assert "lives in Oslo" in model.shown()
    assert "oolong" not in model.shown()


def test_removing_from_a_stranger_does_nothing(memory: Capability) -> None:
    memory.remove_from_agent(object())
    agent, _ = assistant("planner")
    before = shape(agent)
    memory.remove_from_agent(agent)
    assert shape(agent) == before


def test_copies_of_a_memory_are_the_memory(memory: Capability) -> None:
    assert copy.copy(memory) is memory
    assert copy.deepcopy({"memory": memory})["memory"] is memory


def test_one_memory_on_many_agents_and_many_memories_in_one_process(memory: Capability) -> None:
    agents = [assistant(f"agent{number}") for number in range(3)]
    for agent, _ in agents:
        memory.add_to_agent(agent)
    bob = memory_on(RecordingClient(context="Bob likes coffee"))
    bobs, model = assistant("bobs")
    bob.add_to_agent(bobs)
    for agent, own in agents:
        chat(person(), agent, QUESTION, max_turns=1)
        assert "oolong" in own.shown()
    chat(person(), bobs, QUESTION, max_turns=1)
    assert "coffee" in model.shown()
    assert "oolong" not in model.shown()


@both_kinds
@pytest.mark.parametrize("named", ["recipient", "starter"])
def test_the_last_message_of_a_chat_is_kept_by_flush(
    client: RecordingClient, is_async: bool, named: str
) -> None:
    memory = memory_on(client)
    user = UserProxyAgent("ada", human_input_mode="NEVER", code_execution_config=False)
    agent, _ = assistant("planner")
    memory.add_to_agent(user)
    chat(user, agent, QUESTION, is_async=is_async, max_turns=1)
    assert client.kept == [("human", QUESTION)]
    which = user if named == "starter" else agent
    report = (
        asyncio.run(memory.aflush(1.0, agent=which)) if is_async else memory.flush(1.0, agent=which)
    )
    assert report.pending == 0
    assert client.kept == [("human", QUESTION), ("ai", "done 1")]
    memory.flush(1.0, which)
    memory.close()
    assert len(client.turns) == 2


@both_kinds
def test_the_last_message_of_a_chat_is_kept_at_close(
    client: RecordingClient, is_async: bool
) -> None:
    user = UserProxyAgent("ada", human_input_mode="NEVER", code_execution_config=False)
    agent, _ = assistant("planner")

    async def use() -> None:
        async with memory_on(client) as memory:
            memory.add_to_agent(user)
            await user.a_initiate_chat(agent, message=QUESTION, max_turns=1, silent=True)

    if is_async:
        asyncio.run(use())
    else:
        with memory_on(client) as memory:
            memory.add_to_agent(user)
            chat(user, agent, QUESTION, max_turns=1)
    assert client.kept == [("human", QUESTION), ("ai", "done 1")]


def test_scope_is_the_memory_of_another_user_while_it_lasts(
    memory: Capability, client: RecordingClient
) -> None:
    agent, _ = assistant("planner")
    memory.add_to_agent(agent)
    assert (memory.user_id, memory.session_id) == ("ada", "s1")
    with memory.scope(user_id="bob"):
        assert (memory.user_id, memory.session_id) == ("bob", "s1")
        with memory.scope(session_id="s2"):
            assert (memory.user_id, memory.session_id) == ("bob", "s2")
            chat(person("bob"), agent, "please plan my trip to Rome", max_turns=1)
    assert (memory.user_id, memory.session_id) == ("ada", "s1")
    chat(person("ada"), agent, QUESTION, max_turns=1)
    users = [(turn.scope.user_id, turn.scope.session_id) for turn in client.turns]
    assert users == [("bob", "s2")] * 2 + [("ada", "s1")] * 2
    assert [asked.scope.user_id for asked in client.asked] == ["bob", "ada"]


def test_scopes_of_tasks_and_threads_do_not_mix(
    memory: Capability, client: RecordingClient
) -> None:
    agent, _ = assistant("planner")
    memory.add_to_agent(agent)

    async def serve(name: str) -> None:
        with memory.scope(user_id=name, session_id=f"s-{name}"):
            await person(name).a_initiate_chat(
                agent, message=f"{QUESTION} says {name}", max_turns=2, silent=True
            )

    async def everybody() -> None:
        await asyncio.gather(*(serve(f"task{number}") for number in range(10)))

    def serve_in_thread(name: str) -> None:
        with memory.scope(user_id=name):
            chat(person(name), agent, f"{QUESTION} says {name}", max_turns=2)

    threads = [
        threading.Thread(target=serve_in_thread, args=(f"thread{number}",)) for number in range(5)
    ]
    for thread in threads:
        thread.start()
    asyncio.run(everybody())
    for thread in threads:
        thread.join(30)
    said = [turn for turn in client.turns if "says" in turn.text]
    assert len(said) == 15
    assert all(turn.text.endswith(f"says {turn.scope.user_id}") for turn in said)
    asked = [asked for asked in client.asked if "says" in asked.prompt]
    assert len(asked) == 15
    assert all(one.prompt.endswith(f"says {one.scope.user_id}") for one in asked)


def test_what_one_user_was_told_last_never_reaches_the_next_ones_memory(
    client: RecordingClient,
) -> None:
    memory = memory_on(client)
    front = UserProxyAgent("front", human_input_mode="NEVER", code_execution_config=False)
    agent, _ = assistant("planner", "Ada's secret", "Bob's answer")
    memory.add_to_agent(front)
    with memory.scope(user_id="ada"):
        chat(front, agent, "what is my secret?", max_turns=1)
    with memory.scope(user_id="bob"):
        chat(front, agent, "what is my answer?", max_turns=1, clear_history=False)
        memory.flush(agent=front)
    memory.flush()
    memory.close()
    bobs = [turn.text for turn in client.turns if turn.scope.user_id == "bob"]
    assert bobs == ["what is my answer?", "Bob's answer"]
    assert all("secret" in t.text for t in client.turns if t.scope.user_id == "ada")


def test_a_block_of_one_user_is_never_reused_for_another(
    memory: Capability, client: RecordingClient
) -> None:
    agent, _ = assistant("planner")
    memory.add_to_agent(agent)
    messages = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": "a moment please"},
    ]
    for name in ("ada", "bob"):
        with memory.scope(user_id=name):
            agent.generate_reply(messages=list(messages))
    assert [asked.scope.user_id for asked in client.asked] == ["ada", "bob"]


@pytest.mark.parametrize("wrong", ["", "  ", 7])
def test_a_scope_without_a_user_is_refused_by_name(memory: Capability, wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="user_id"), memory.scope(user_id=wrong):
        pass
    with pytest.raises(ConfigurationError, match="session_id"), memory.scope(session_id=wrong):
        pass


def test_nothing_of_the_memory_keeps_agents_alive(memory: Capability) -> None:
    import gc
    import weakref

    agent, _ = assistant("planner")
    memory.add_to_agent(agent)
    chat(person(), agent, QUESTION, max_turns=1)
    gone = weakref.ref(agent)
    del agent
    gc.collect()
    assert gone() is None


def test_a_block_that_an_older_package_left_in_history_is_not_kept_as_words(
    memory: Capability, client: RecordingClient
) -> None:
    agent, _ = assistant("planner")
    memory.add_to_agent(agent)
    old = f"Relevant user memories (MemorySync):\n- likes tea\n\n{QUESTION}"
    chat(person(), agent, old, max_turns=1)
    assert client.kept == [("human", QUESTION), ("ai", "done 1")]
    assert stored_texts(agent)[0] == old
