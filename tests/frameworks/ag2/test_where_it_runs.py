"""Every way in which AG2 runs an agent: the model sees one block, both sides are kept, histories stay clean."""

import asyncio
import contextvars
import copy
import threading
from typing import Any

import pytest
from ag2_chats import chat, person, stored_texts
from ag2_memory import HEAD, RecordingClient, memory_on
from ag2_model import LLM_CONFIG, ScriptedClient, ScriptedModel, assistant, with_model
from autogen.agentchat import a_initiate_group_chat, initiate_group_chat
from autogen.agentchat.chat import a_initiate_chats
from autogen.agentchat.contrib.capabilities.transform_messages import TransformMessages
from autogen.agentchat.contrib.capabilities.transforms import MessageHistoryLimiter
from autogen.agentchat.contrib.multimodal_conversable_agent import MultimodalConversableAgent
from autogen.agentchat.group.patterns import (
    AutoPattern,
    DefaultPattern,
    ManualPattern,
    RandomPattern,
    RoundRobinPattern,
)
from autogen.agentchat.group.safeguards.api import reset_safeguard_policy

from autogen import ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent, initiate_chats
from memotel.counts import Count
from memotel.outcomes import Outcome, RefusalReason

QUESTION = "please plan my trip to Oslo"
both_kinds = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture
def client() -> RecordingClient:
    return RecordingClient()


def planner(
    client: RecordingClient, *lines: Any, **options: Any
) -> tuple[ConversableAgent, ScriptedModel]:
    """Return an agent with memory, and its model."""
    agent, model = assistant("planner", *lines, **options)
    memory_on(client).add_to_agent(agent)
    return agent, model


def assert_shown_once(model: ScriptedModel, *agents: ConversableAgent) -> None:
    """Each call of the model had one block, in front of the last words it was sent; no history has any."""
    assert model.seen
    for shown in model.seen:
        words = [m for m in shown if m["role"] == "user"]
        assert str(words[-1]["content"]).count(HEAD) == 1
        assert all(HEAD not in str(message["content"]) for message in words[:-1])
    assert all(HEAD not in text for text in stored_texts(*agents))


@both_kinds
def test_initiate_chats_keeps_words_and_not_what_is_carried_over(
    client: RecordingClient, is_async: bool
) -> None:
    memory = memory_on(client)
    first, planning = assistant("planner", "go by train")
    second, writing = assistant("writer", "written")
    memory.add_to_agent(first)
    memory.add_to_agent(second)
    user = person()
    chats: list[dict[str, Any]] = [
        {"recipient": first, "message": QUESTION, "chat_id": 1},
        {
            "recipient": second,
            "message": "write it down for me",
            "chat_id": 2,
            "prerequisites": [1],
        },
    ]
    chats = [{"sender": user, "max_turns": 1, "silent": True, **one} for one in chats]
    if is_async:
        asyncio.run(a_initiate_chats(chats))
    else:
        initiate_chats(chats)
    assert client.kept == [
        ("human", QUESTION),
        ("ai", "go by train"),
        ("human", "write it down for me"),
        ("ai", "written"),
    ]
    assert [asked.prompt for asked in client.asked] == [QUESTION, "write it down for me"]
    for model in (planning, writing):
        assert_shown_once(model, first, second, user)
    assert "go by train" in writing.shown()


def test_run_keeps_both_sides(client: RecordingClient) -> None:
    agent, model = planner(client)
    agent.run(message=QUESTION, max_turns=1, silent=True).process(SilentProcessor())
    assert client.kept == [("human", QUESTION), ("ai", "done 1")]
    assert_shown_once(model, agent)


def test_a_run_keeps_both_sides(client: RecordingClient) -> None:
    agent, model = planner(client)

    async def run() -> None:
        response = await agent.a_run(message=QUESTION, max_turns=1, silent=True)
        await response.process(SilentProcessor())

    asyncio.run(run())
    assert client.kept == [("human", QUESTION), ("ai", "done 1")]
    assert client.asked[0].kind == "async"
    assert_shown_once(model, agent)


def test_a_scope_reaches_a_run_and_not_the_thread_that_run_starts(client: RecordingClient) -> None:
    agent, _ = assistant("planner")
    memory = memory_on(client)
    memory.add_to_agent(agent)

    async def run() -> None:
        response = await agent.a_run(message=QUESTION, max_turns=1, silent=True)
        await response.process(SilentProcessor())

    with memory.scope(user_id="bob", session_id="b1"):
        asyncio.run(run())
        agent.run(message=QUESTION, max_turns=1, silent=True).process(SilentProcessor())
    assert [asked.scope.user_id for asked in client.asked] == ["bob", "ada"]


def test_a_scope_reaches_a_thread_that_is_given_the_context(client: RecordingClient) -> None:
    agent, _ = assistant("planner")
    memory = memory_on(client)
    memory.add_to_agent(agent)
    with memory.scope(user_id="bob", session_id="b1"):
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=context.run, args=(chat, person(), agent, QUESTION), kwargs={"max_turns": 1}
        )
        thread.start()
    thread.join(30)
    assert {turn.scope.user_id for turn in client.turns} == {"bob"}


class SilentProcessor:
    """Takes AG2's events and does nothing."""

    def process(self, response: Any) -> Any:
        events = response.events
        return [None for _ in events] if not hasattr(events, "__aiter__") else _drain(events)


async def _drain(events: Any) -> None:
    async for _ in events:
        pass


@both_kinds
def test_direct_calls_leave_the_callers_messages_alone(
    client: RecordingClient, is_async: bool
) -> None:
    agent, model = planner(client)

    def reply(messages: list[dict[str, Any]]) -> Any:
        if is_async:
            return asyncio.run(agent.a_generate_reply(messages=messages))
        return agent.generate_reply(messages=messages)

    messages = [{"role": "user", "content": QUESTION}]
    before = copy.deepcopy(messages)
    assert reply(messages) == "done 1"
    assert reply(messages) == "done 2"
    assert messages == before
    messages += [
        {"role": "assistant", "content": "done 2"},
        {"role": "user", "content": "and back"},
    ]
    reply(messages)
    assert [(str(t.speaker), t.text) for t in client.turns] == [
        ("human", QUESTION),
        ("ai", "done 2"),
        ("human", "and back"),
    ]
    assert_shown_once(model, agent)


@both_kinds
def test_group_chat_keeps_every_speaker_under_its_own_role(
    client: RecordingClient, is_async: bool
) -> None:
    attached, model = planner(client, "by train", "or by boat")
    stranger, _ = assistant("stranger", "trains are slow")
    user = UserProxyAgent("ada", human_input_mode="NEVER", code_execution_config=False)
    group = GroupChat(
        agents=[user, stranger, attached],
        messages=[],
        max_round=4,
        speaker_selection_method="round_robin",
    )
    manager = GroupChatManager(group, silent=True)
    chat(user, manager, QUESTION, is_async=is_async)
    assert client.kept == [
        ("human", QUESTION),
        ("ai", "trains are slow"),
        ("ai", "by train"),
    ]
    names = {turn.text: turn.speaker_name for turn in client.turns}
    assert names == {QUESTION: "ada", "trains are slow": "stranger", "by train": "planner"}
    assert_shown_once(model, attached, stranger, user, manager)


PATTERNS = [AutoPattern, DefaultPattern, ManualPattern, RandomPattern, RoundRobinPattern]


@both_kinds
@pytest.mark.parametrize("has_user", [False, True], ids=["temporary-user", "own-user"])
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
def test_each_pattern(
    client: RecordingClient,
    pattern: Any,
    has_user: bool,
    is_async: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("builtins.input", lambda *_: "2")
    choosing = ScriptedModel(*["planner"] * 9)
    monkeypatch.setattr(
        GroupChat,
        "_register_custom_model_clients",
        lambda self, agent: with_model(agent, choosing),
    )
    attached, model = planner(client)
    writer, _ = assistant("writer", "I write")
    memory_on(client).add_to_agent(writer)
    user = None
    if has_user:
        user = UserProxyAgent(
            "ada",
            human_input_mode="NEVER",
            code_execution_config=False,
            default_auto_reply="and by boat?",
        )
    arguments = {} if pattern is not AutoPattern else {"llm_config": LLM_CONFIG}
    made = pattern(
        initial_agent=attached,
        agents=[attached, writer],
        user_agent=user,
        group_manager_args={"silent": True, **arguments},
    )
    start: Any = a_initiate_group_chat if is_async else initiate_group_chat
    result = start(pattern=made, messages=QUESTION, max_rounds=4)
    result, _, _ = asyncio.run(result) if is_async else result
    assert client.kept[:2] == [("human", QUESTION), ("ai", "done 1")]
    said = {str(message["content"]) for message in result.chat_history}
    assert {text for _, text in client.kept} <= said
    assert all(role == "human" for role, text in client.kept if text == "and by boat?")
    assert all(HEAD not in text for text in said)
    assert_shown_once(model, attached, writer)


@both_kinds
def test_a_group_that_resumes_tells_the_whole_history_with_each_turn(
    client: RecordingClient, is_async: bool
) -> None:
    attached, model = planner(client)

    def pattern() -> RoundRobinPattern:
        return RoundRobinPattern(
            initial_agent=attached, agents=[attached], group_manager_args={"silent": True}
        )

    start: Any = a_initiate_group_chat if is_async else initiate_group_chat

    def run(messages: Any) -> Any:
        result = start(pattern=pattern(), messages=messages, max_rounds=2)
        return (asyncio.run(result) if is_async else result)[0]

    history = run(QUESTION).chat_history
    first = list(zip(client.turns, client.histories, strict=True))
    run([*history, {"role": "user", "content": "and the way back?"}])
    assert client.kept == [
        ("human", QUESTION),
        ("ai", "done 1"),
        ("human", "and the way back?"),
        ("ai", "done 2"),
    ]
    again = {
        turn.text: history for turn, history in zip(client.turns, client.histories, strict=True)
    }
    for turn, seen in first:
        assert again[turn.text] == seen
    assert_shown_once(model, attached)


@both_kinds
def test_a_nested_chat_keeps_what_was_said_and_not_what_was_passed_on(
    client: RecordingClient, is_async: bool
) -> None:
    memory = memory_on(client)
    outer, planning = assistant("planner")
    inner, reviewing = assistant("reviewer", "looks fine")
    memory.add_to_agent(outer)
    memory.add_to_agent(inner)
    user = person()
    queue = [{"recipient": inner, "max_turns": 1, "chat_id": 1}]
    options: dict[str, Any] = {"use_async": True} if is_async else {}
    outer.register_nested_chats(queue, trigger=user, **options)
    chat(user, outer, QUESTION, is_async=is_async, max_turns=1)
    assert client.kept == [("human", QUESTION), ("ai", "looks fine")]
    assert planning.seen == []
    assert_shown_once(reviewing, outer, inner, user)


def test_a_synchronous_nested_chat_inside_an_asynchronous_one_works(
    client: RecordingClient,
) -> None:
    memory = memory_on(client)
    outer, _ = assistant("planner")
    inner, reviewing = assistant("reviewer", "looks fine")
    memory.add_to_agent(outer)
    memory.add_to_agent(inner)
    user = person()
    outer.register_nested_chats([{"recipient": inner, "max_turns": 1}], trigger=user)
    chat(user, outer, QUESTION, is_async=True, max_turns=1)
    assert [asked.kind for asked in client.asked] == ["sync"]
    assert client.kept == [("human", QUESTION), ("ai", "looks fine")]
    assert_shown_once(reviewing, outer, inner, user)


PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)


@both_kinds
def test_multimodal_content_keeps_its_parts(client: RecordingClient, is_async: bool) -> None:
    model = ScriptedModel()
    agent = with_model(
        MultimodalConversableAgent("planner", llm_config=LLM_CONFIG, human_input_mode="NEVER"),
        model,
    )
    memory_on(client).add_to_agent(agent)
    user = person()
    chat(user, agent, f"<img {PIXEL}> what is this?", is_async=is_async, max_turns=2)
    parts = model.seen[0][1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text", "text"]
    assert parts[2]["text"].startswith(HEAD)
    assert parts[3]["text"].strip() == "what is this?"
    assert client.kept[:2] == [("human", "what is this?"), ("ai", "done 1")]
    assert_shown_once(model, agent, user)


@both_kinds
def test_a_human_who_types_is_a_person(
    client: RecordingClient, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = iter(["by train, please", "exit"])
    monkeypatch.setattr("builtins.input", lambda *_: next(typed))
    agent, model = planner(client)
    user = UserProxyAgent("ada", code_execution_config=False)
    memory_on(client).add_to_agent(user)
    chat(user, agent, QUESTION, is_async=is_async)
    assert client.kept == [
        ("human", QUESTION),
        ("ai", "done 1"),
        ("human", "by train, please"),
        ("ai", "done 2"),
    ]
    assert len(client.asked) == 2
    assert_shown_once(model, agent, user)


def test_a_notebook_cell_that_calls_the_synchronous_api(client: RecordingClient) -> None:
    agent, model = planner(client)

    async def cell() -> None:
        chat(person(), agent, QUESTION, max_turns=2)

    asyncio.run(cell())
    assert [asked.kind for asked in client.asked] == ["sync", "sync"]
    assert_shown_once(model, agent)


def test_a_notebook_cell_that_awaits(client: RecordingClient) -> None:
    agent, model = planner(client)

    async def cell() -> None:
        await person().a_initiate_chat(agent, message=QUESTION, max_turns=2, silent=True)

    asyncio.run(cell())
    assert [asked.kind for asked in client.asked] == ["async", "async"]
    assert_shown_once(model, agent)


@both_kinds
@pytest.mark.parametrize("is_late", [False, True], ids=["added-first", "added-last"])
def test_a_capability_that_rewrites_the_last_message_as_teachability_does(
    client: RecordingClient, is_async: bool, is_late: bool
) -> None:
    """Teachability itself needs a vector database; this is its one hook (autogen 0.14.1)."""
    agent, model = assistant("planner")
    if is_late:
        memory_on(client).add_to_agent(agent)
    agent.register_hook(
        "process_last_received_message", lambda text: f"{text}\n# a memo of its own"
    )
    if not is_late:
        memory_on(client).add_to_agent(agent)
    user = person()
    chat(user, agent, QUESTION, is_async=is_async, max_turns=1)
    assert client.kept[0] == ("human", QUESTION)
    assert model.shown().count("# a memo of its own") == 1
    assert_shown_once(model, agent, user)


def test_many_asynchronous_chats_with_one_agent_at_once(client: RecordingClient) -> None:
    agent, model = planner(client)
    users = [person(f"ada{number}") for number in range(20)]

    async def everybody() -> None:
        await asyncio.gather(
            *(
                user.a_initiate_chat(
                    agent, message=f"{QUESTION} {user.name}", max_turns=2, silent=True
                )
                for user in users
            )
        )

    asyncio.run(everybody())
    assert len(model.seen) == 40
    assert {asked.kind for asked in client.asked} == {"async"}
    assert_shown_once(model, agent, *users)


def test_threads_with_one_agent_at_once(client: RecordingClient) -> None:
    agent, model = planner(client)
    users = [person(f"ada{number}") for number in range(8)]
    threads = [
        threading.Thread(target=chat, args=(user, agent, QUESTION), kwargs={"max_turns": 3})
        for user in users
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(model.seen) == 24
    assert_shown_once(model, agent, *users)


@both_kinds
@pytest.mark.parametrize("is_late", [False, True], ids=["added-first", "added-last"])
def test_a_history_limiter_does_not_take_the_block_away(
    client: RecordingClient, is_async: bool, is_late: bool
) -> None:
    agent, model = assistant("planner")
    limiter = TransformMessages(transforms=[MessageHistoryLimiter(max_messages=1)], verbose=False)
    if is_late:
        limiter.add_to_agent(agent)
    memory_on(client).add_to_agent(agent)
    if not is_late:
        limiter.add_to_agent(agent)
    user = person()
    chat(user, agent, QUESTION, is_async=is_async, max_turns=3)
    assert [len(shown) for shown in model.seen] == [2, 2, 2]
    assert_shown_once(model, agent, user)


@both_kinds
def test_a_deep_copy_has_the_same_memory(client: RecordingClient, is_async: bool) -> None:
    agent, _ = planner(client)
    twin = copy.deepcopy(agent)
    model = _model_of(twin)
    chat(person(), twin, QUESTION, is_async=is_async, max_turns=2)
    assert len(client.asked) == 2
    assert client.kept[:2] == [("human", QUESTION), ("ai", "done 1")]
    assert_shown_once(model, twin)
    assert stored_texts(agent) == []


@both_kinds
def test_reset_and_cleared_history_keep_the_memory(client: RecordingClient, is_async: bool) -> None:
    agent, model = planner(client)
    user = person()
    chat(user, agent, QUESTION, is_async=is_async, max_turns=1)
    agent.reset()
    chat(user, agent, "please plan my trip to Rome", is_async=is_async, max_turns=1)
    agent.clear_history()
    chat(user, agent, "please plan my trip to Bonn", is_async=is_async, max_turns=1)
    assert [text for role, text in client.kept if role == "human"] == [
        QUESTION,
        "please plan my trip to Rome",
        "please plan my trip to Bonn",
    ]
    assert_shown_once(model, agent, user)


def test_a_new_chat_with_the_same_words_is_recalled_for_anew(client: RecordingClient) -> None:
    agent, _ = planner(client)
    user = person()
    chat(user, agent, QUESTION, max_turns=1)
    chat(user, agent, QUESTION, max_turns=1)
    assert len(client.asked) == 2
    assert [
        (turn.text, len(history))
        for turn, history in zip(client.turns, client.histories, strict=True)
    ] == [
        (QUESTION, 1),
        ("done 1", 2),
        (QUESTION, 1),
        ("done 2", 2),
    ]


@both_kinds
def test_reset_safeguards_take_no_words_away(client: RecordingClient, is_async: bool) -> None:
    agent, model = planner(client)
    reset_safeguard_policy(agents=[agent])
    assert agent.hook_lists["process_message_before_send"] == []
    user = person()
    chat(user, agent, QUESTION, is_async=is_async, max_turns=2)
    assert client.kept == [
        ("human", QUESTION),
        ("ai", "done 1"),
        ("human", "and then what happened?"),
    ]
    assert_shown_once(model, agent, user)


@pytest.mark.parametrize("is_late", [False, True], ids=["memory-first", "memory-last"])
@both_kinds
def test_order_of_instrumentation_does_not_matter(
    client: RecordingClient, is_async: bool, is_late: bool
) -> None:
    pytest.importorskip("autogen.opentelemetry", reason="AG2 traces agents from 0.11 on")
    from autogen.opentelemetry import instrument_agent
    from opentelemetry.sdk.trace import TracerProvider

    agent, model = assistant("planner")
    if is_late:
        instrument_agent(agent, tracer_provider=TracerProvider())
    memory_on(client).add_to_agent(agent)
    if not is_late:
        instrument_agent(agent, tracer_provider=TracerProvider())
    user = person()
    chat(user, agent, QUESTION, is_async=is_async, max_turns=2)
    assert [asked.kind for asked in client.asked] == ["async" if is_async else "sync"] * 2
    assert_shown_once(model, agent, user)


@both_kinds
def test_a_context_of_the_message_formats_words_and_never_memory(is_async: bool) -> None:
    client = RecordingClient(context="wrote {n} and {0} and {secret}")
    agent, model = planner(client, llm_config={**LLM_CONFIG, "allow_format_str_template": True})
    user = person()
    message = {"content": "my name is {n}, what did I write?", "context": {"n": "Ada"}}
    chat(user, agent, message, is_async=is_async, max_turns=2)
    assert model.seen[0][1]["content"].endswith(
        "wrote {n} and {0} and {secret}\n\nmy name is Ada, what did I write?"
    )
    assert "wrote {n} and {0} and {secret}\n\n" in model.seen[1][-1]["content"]
    assert "context" not in agent.chat_messages[user][0]
    assert_shown_once(model, agent, user)


@both_kinds
def test_faults_of_ours_never_reach_a_chat(
    is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    client = RecordingClient(error=RuntimeError("broken inside"))
    agent, model = planner(client)
    result = chat(person(), agent, QUESTION, is_async=is_async, max_turns=3)
    assert [m["content"] for m in result.chat_history][1::2] == ["done 1", "done 2", "done 3"]
    assert len(model.seen) == 3
    labels = (client.provider, client.adapter, Outcome.INTERNAL_ERROR)
    assert client.counts.total(Count.RECALLS, *labels) == 3
    refused = client.counts.total(Count.REFUSED, client.provider, RefusalReason.INTERNAL_ERROR)
    assert refused == 6
    logged = [record.getMessage() for record in caplog.records if record.name == "memotel.hook"]
    assert len([text for text in logged if "the chat goes on" in text]) == 2
    assert all("broken inside" not in text for text in logged)


def test_cancellation_passes(client: RecordingClient) -> None:
    agent, model = planner(client)

    async def never(*_: Any, **__: Any) -> None:
        waiting.set()
        await asyncio.sleep(60)

    async def run() -> None:
        client.arecall = never  # type: ignore[method-assign, assignment] # a recall that never ends
        task = asyncio.create_task(
            person().a_initiate_chat(agent, message=QUESTION, max_turns=1, silent=True)
        )
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    waiting = asyncio.Event()
    asyncio.run(run())
    assert model.seen == []


def _model_of(agent: ConversableAgent) -> ScriptedModel:
    """Return the model of a copied agent: a copy too."""
    client = agent.client._clients[0]
    assert isinstance(client, ScriptedClient)
    return client._model
