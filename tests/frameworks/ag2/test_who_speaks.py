"""Whose words a turn holds: it follows the speaker, whichever hook saw it, on whichever agent."""

from typing import Any

import pytest
from ag2_chats import chat, person
from ag2_memory import RecordingClient, memory_on
from ag2_model import LLM_CONFIG, ScriptedModel, assistant, tool_call, with_model

from ag2_memorysync.capability import speaks_for_a_person
from autogen import (
    AssistantAgent,
    ConversableAgent,
    GroupChat,
    GroupChatManager,
    UserProxyAgent,
    register_function,
)

QUESTION = "please plan my trip to Oslo"
both_kinds = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.mark.parametrize(
    ("options", "is_person"),
    [
        ({}, True),
        ({"human_input_mode": "TERMINATE"}, True),
        ({"human_input_mode": "NEVER"}, False),
        ({"human_input_mode": "ALWAYS"}, True),
        ({"llm_config": LLM_CONFIG}, False),
        ({"llm_config": LLM_CONFIG, "human_input_mode": "NEVER"}, False),
        ({"llm_config": LLM_CONFIG, "human_input_mode": "ALWAYS"}, True),
    ],
)
def test_conversable_agent_speaks_for_a_person_by_its_mode_and_model(
    options: dict[str, Any], is_person: bool
) -> None:
    agent = ConversableAgent("agent", **options)
    assert speaks_for_a_person(agent) is is_person


@pytest.mark.parametrize("mode", ["ALWAYS", "TERMINATE", "NEVER"])
def test_a_user_proxy_speaks_for_a_person_in_every_mode(mode: Any) -> None:
    class OwnProxy(UserProxyAgent):
        pass

    for kind in (UserProxyAgent, OwnProxy):
        agent = kind("user", human_input_mode=mode, code_execution_config=False)
        assert speaks_for_a_person(agent) is True


def test_assistants_and_managers_do_not_speak_for_a_person() -> None:
    assert not speaks_for_a_person(AssistantAgent("a", llm_config=LLM_CONFIG))
    group = GroupChat(agents=[], messages=[])
    for mode in ("NEVER", "TERMINATE", "ALWAYS"):
        assert not speaks_for_a_person(GroupChatManager(group, human_input_mode=mode))
    assert not speaks_for_a_person(object())


@pytest.fixture
def client() -> RecordingClient:
    return RecordingClient()


@both_kinds
def test_a_person_stays_a_person_with_memory_on_both_agents(
    client: RecordingClient, is_async: bool
) -> None:
    memory = memory_on(client)
    agent, _ = assistant("planner")
    user = UserProxyAgent(
        "ada",
        human_input_mode="NEVER",
        code_execution_config=False,
        default_auto_reply="by train please",
    )
    memory.add_to_agent(agent)
    memory.add_to_agent(user)
    chat(user, agent, QUESTION, is_async=is_async, max_turns=2)
    assert client.kept == [
        ("human", QUESTION),
        ("ai", "done 1"),
        ("human", "by train please"),
        ("ai", "done 2"),
    ]


def test_the_plain_assistant_of_every_quick_start_is_a_model_speaking(
    client: RecordingClient,
) -> None:
    agent = with_model(ConversableAgent("assistant", llm_config=LLM_CONFIG), ScriptedModel())
    memory_on(client).add_to_agent(agent)
    chat(person(), agent, QUESTION, max_turns=1)
    assert client.kept == [("human", QUESTION), ("ai", "done 1")]


@pytest.mark.parametrize(
    ("partner", "speaker"),
    [
        (person, "human"),
        (lambda: ConversableAgent("p", llm_config=False), "human"),
        (lambda: person(code_execution_config={"use_docker": False}), "ai"),
        (lambda: assistant("p")[0], "ai"),
    ],
    ids=["no-model", "default", "executes-code", "model"],
)
def test_what_a_program_hands_over_is_a_persons(
    client: RecordingClient, partner: Any, speaker: str
) -> None:
    agent, _ = assistant("planner")
    memory_on(client).add_to_agent(agent)
    chat(partner(), agent, QUESTION, max_turns=1)
    assert client.kept == [(speaker, QUESTION), ("ai", "done 1")]


def test_a_program_whose_agent_has_memory_of_its_own_is_an_agent(client: RecordingClient) -> None:
    agent, _ = assistant("planner")
    other = person()
    memory = memory_on(client)
    memory.add_to_agent(agent)
    memory_on(RecordingClient()).add_to_agent(other)
    chat(other, agent, QUESTION, max_turns=1)
    assert client.kept == [("ai", QUESTION), ("ai", "done 1")]


def test_in_a_group_a_program_is_an_agent(client: RecordingClient) -> None:
    agent, _ = assistant("planner")
    memory_on(client).add_to_agent(agent)
    program = person("program")
    group = GroupChat(
        agents=[program, agent],
        messages=[],
        max_round=2,
        speaker_selection_method="round_robin",
    )
    chat(program, GroupChatManager(group, silent=True), QUESTION)
    assert client.kept == [("ai", QUESTION), ("ai", "done 1")]


@both_kinds
def test_tool_traffic_is_never_kept(client: RecordingClient, is_async: bool) -> None:
    def weather(city: str) -> str:
        return f"it rains in {city}"

    agent, model = assistant("planner", tool_call("weather", '{"city": "Oslo"}'), "take a coat")
    user = person()
    register_function(weather, caller=agent, executor=user, description="weather")
    with_model(agent, model)
    memory = memory_on(client)
    memory.add_to_agent(agent)
    memory.add_to_agent(user)
    chat(user, agent, QUESTION, is_async=is_async, max_turns=2)
    assert client.kept == [("ai", QUESTION), ("ai", "take a coat")]
    assert len(client.asked) == 1


@both_kinds
def test_tool_traffic_in_a_group_is_never_kept(client: RecordingClient, is_async: bool) -> None:
    def weather(city: str) -> str:
        return f"it rains in {city}"

    agent, model = assistant("planner", tool_call("weather", '{"city": "Oslo"}'), "take a coat")
    executor = ConversableAgent("executor", human_input_mode="NEVER", llm_config=False)
    register_function(weather, caller=agent, executor=executor, description="weather")
    with_model(agent, model)
    user = UserProxyAgent("ada", human_input_mode="NEVER", code_execution_config=False)
    critic, _ = assistant("critic", "a good coat")
    memory = memory_on(client)
    for member in (agent, executor, critic):
        memory.add_to_agent(member)
    group = GroupChat(
        agents=[user, agent, executor, critic],
        messages=[],
        max_round=5,
        speaker_selection_method=lambda last, chat: {
            "ada": agent,
            "executor": agent,
            "planner": executor if "tool_calls" in chat.messages[-1] else critic,
        }[last.name],
    )
    chat(user, GroupChatManager(group, silent=True), QUESTION, is_async=is_async)
    assert client.kept == [
        ("human", QUESTION),
        ("ai", "take a coat"),
        ("ai", "a good coat"),
    ]
    assert {turn.text for turn in client.turns}.isdisjoint({"None", "it rains in Oslo"})


def test_code_output_is_not_kept(client: RecordingClient, tmp_path: Any) -> None:
    agent, _ = assistant("coder", "```sh\necho hi\n```", "it said hi")
    runner = UserProxyAgent(
        "runner",
        human_input_mode="NEVER",
        code_execution_config={"work_dir": str(tmp_path), "use_docker": False},
    )
    memory_on(client).add_to_agent(agent)
    chat(runner, agent, "please say hi by a program", max_turns=2)
    assert client.kept == [
        ("human", "please say hi by a program"),
        ("ai", "```sh\necho hi\n```"),
        ("ai", "it said hi"),
    ]


def test_the_introductions_of_a_group_are_not_kept(client: RecordingClient) -> None:
    agent, model = assistant("planner")
    user = UserProxyAgent("ada", human_input_mode="NEVER", code_execution_config=False)
    memory_on(client).add_to_agent(agent)
    group = GroupChat(
        agents=[user, agent],
        messages=[],
        max_round=2,
        send_introductions=True,
        speaker_selection_method="round_robin",
    )
    chat(user, GroupChatManager(group, silent=True), QUESTION)
    assert "great team" in model.shown()
    assert client.kept == [("human", QUESTION), ("ai", "done 1")]


def test_a_manager_with_memory_keeps_nothing_twice_and_nothing_as_its_own(
    client: RecordingClient,
) -> None:
    agent, _ = assistant("planner")
    user = UserProxyAgent("ada", human_input_mode="NEVER", code_execution_config=False)
    group = GroupChat(
        agents=[user, agent], messages=[], max_round=2, speaker_selection_method="round_robin"
    )
    manager = GroupChatManager(group, silent=True)
    memory_on(client).add_to_agent(manager)
    chat(user, manager, QUESTION)
    assert client.kept == [("human", QUESTION)]
    assert client.asked == []


@pytest.mark.parametrize(
    ("roles", "kept"),
    [
        (("human",), [("human", QUESTION)]),
        (("ai",), [("ai", "done 1")]),
        ((), []),
        (("human", "ai"), [("human", QUESTION), ("ai", "done 1")]),
    ],
)
def test_persist_roles_narrows_whose_words_are_kept(
    client: RecordingClient, roles: tuple[str, ...], kept: list[tuple[str, str]]
) -> None:
    agent, _ = assistant("planner")
    memory_on(client, persist_roles=roles).add_to_agent(agent)
    chat(person(), agent, QUESTION, max_turns=1)
    assert client.kept == kept
    assert len(client.asked) == 1


@pytest.mark.parametrize(
    ("capture", "kept"),
    [
        ("received", [("human", QUESTION)]),
        ("sent", [("ai", "done 1")]),
        ("both", [("human", QUESTION), ("ai", "done 1")]),
    ],
)
def test_capture_says_which_hooks_keep(
    client: RecordingClient, capture: str, kept: list[tuple[str, str]]
) -> None:
    agent, _ = assistant("planner")
    memory_on(client, capture=capture).add_to_agent(agent)
    chat(person(), agent, QUESTION, max_turns=1)
    assert client.kept == kept
