"""dump_component and load_component: every setting survives, no secret is in a dump."""

import json
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import ComponentModel
from autogen_core.memory import Memory
from httpx import MockTransport, Response
from scripted_model import ScriptedModel

import memotel.autogen
import rekall_autogen
from memotel.autogen import MemorySyncMemory, RekallMemory, create_memory_tools
from memotel.autogen.arguments import Arguments, Settings
from memotel.autogen.component import MemoryConfig, MemorySyncConfig, RekallConfig
from memotel.autogen.memory import AgentMemory
from memotel.config import (
    BreakerPolicy,
    NetworkPolicy,
    PermitPolicy,
    RecallPolicy,
    RetryPolicy,
    WatchdogPolicy,
    WritePolicy,
)
from memotel.errors import ConfigurationError

SECRET = "rk_very_secret"


def mask_names(text: str) -> str | None:
    """Stands for a redaction of the user's own."""
    return text.replace("Ada", "***")


def current_token() -> str:
    """Stands for a token source of the user's own."""
    return SECRET


COMMON: dict[str, Any] = {
    "session_id": "s1",
    "top_k": 3,
    "recall_timeout": 0.7,
    "write_timeout": 2.5,
    "placement": "user",
    "capture": "both",
    "user_names": ["ada", "user"],
    "emit_event": True,
    "name": "facts",
    "min_prompt_chars": 2,
    "min_score": 0.2,
    "max_prompt_chars": 1_000,
    "max_context_chars": 2_000,
    "max_recalls_in_flight": 7,
    "search_timeout": 4.0,
    "exit_drain_timeout": 1.0,
    "outbox": "memory",
    "outbox_max_writes": 100,
    "outbox_max_bytes": 10_000,
    "on_full": "raise",
    "proxy": "http://proxy.example:3128",
    "verify": False,
    "cert": ("cert.pem", "key.pem"),
    "keepalive": 20.0,
    "http_engine": "httpcore",
    "propagate": False,
    "record_session_id": False,
    "allow_insecure_http": True,
    "account": "shared",
    "redact": mask_names,
}
POLICIES: dict[str, Any] = {
    "breaker": BreakerPolicy(min_calls=3),
    "retry": RetryPolicy(capacity=10),
    "permits": PermitPolicy(recalls=3),
    "recall": RecallPolicy(top_k=2),
    "writes": WritePolicy(max_in_flight=4, initial_in_flight=2),
    "watchdog": WatchdogPolicy(grace_s=2.0),
}
WITHOUT_FORM = {"transport", "network", "outbox_policy"}


def rekall(**settings: Any) -> RekallMemory:
    return RekallMemory(**{"api_url": "http://localhost:9876", "api_key": SECRET, **settings})


def memory_sync(**settings: Any) -> MemorySyncMemory:
    given = {"user_id": "ada", "api_key": SECRET, "base_url": "http://localhost:9876"}
    return MemorySyncMemory(**{**given, "project_id": "proj_0123456789abcdef", **settings})


both = pytest.mark.parametrize("make", [rekall, memory_sync])


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REKALL_API_KEY", SECRET)
    monkeypatch.setenv("MEMORYSYNC_API_KEY", SECRET)


@both
@pytest.mark.parametrize("given", [COMMON, POLICIES], ids=["settings", "policies"])
def test_every_setting_survives_the_round_trip(
    make: Callable[..., AgentMemory], given: Mapping[str, Any]
) -> None:
    memory = make(**given)
    loaded = AgentMemory.load_component(json.loads(memory.dump_component().model_dump_json()))
    assert type(loaded) is type(memory)
    assert loaded._options == memory._options
    ours, theirs = loaded.client.settings, memory.client.settings
    for field in type(ours).__dataclass_fields__:
        if field not in ("credential", "redact"):
            assert getattr(ours, field) == getattr(theirs, field), field
    assert ours.redact is given.get("redact")
    assert loaded.dump_component() == memory.dump_component()


def test_round_trip_above_covers_every_setting() -> None:
    special = {"url", "api_key", "api_key_file", "headers", "project_id", "user_id", "limit"}
    assert set(get_type_hints(Arguments)) - special - WITHOUT_FORM == {*COMMON, *POLICIES}


def test_configuration_has_a_field_for_every_setting() -> None:
    fields = set(MemoryConfig.model_fields)
    assert set(get_type_hints(Settings)) - WITHOUT_FORM <= fields
    assert {"api_url"} == set(RekallConfig.model_fields) - fields
    assert {"base_url", "project_id"} == set(MemorySyncConfig.model_fields) - fields


@both
@pytest.mark.parametrize(
    "secret",
    [
        {"api_key": SECRET},
        {"headers": {"x-user-id": SECRET}},
        {"proxy": f"http://user:{SECRET}@proxy.example:3128"},
    ],
    ids=["key", "header", "proxy"],
)
def test_dump_holds_no_secret(make: Callable[..., AgentMemory], secret: Mapping[str, Any]) -> None:
    dumped = make(**secret).dump_component().model_dump_json()
    assert SECRET not in dumped
    assert SECRET not in repr(make(**secret))


def test_access_token_is_dumped_as_the_name_of_the_variable() -> None:
    memory = RekallMemory("http://localhost:9876", access_token="rat_secret")
    config = memory.dump_component().config
    assert config["from_env"] == {"api_key": "REKALL_API_KEY"}
    assert "rat_secret" not in json.dumps(config)


def test_loaded_memory_reads_the_key_from_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    dumped = rekall(api_key="rk_one").dump_component()
    monkeypatch.setenv("REKALL_API_KEY", "rk_two")
    loaded = RekallMemory.load_component(dumped)
    assert loaded.client.settings.account == rekall(api_key="rk_two").client.settings.account


def test_headers_are_read_from_variables_on_load(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = RekallMemory("http://localhost:9876", headers={"x-user-id": "ada"})
    dumped = memory.dump_component()
    monkeypatch.setenv("REKALL_HEADER_X_USER_ID", "ada")
    loaded = RekallMemory.load_component(dumped)
    assert loaded.client.settings.network.headers == {"x-user-id": "ada"}


def test_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    dumped = rekall().dump_component()
    monkeypatch.delenv("REKALL_API_KEY")
    with pytest.raises(ConfigurationError, match="REKALL_API_KEY"):
        RekallMemory.load_component(dumped)


def test_key_function_and_key_file_survive(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(SECRET)
    by_file = RekallMemory("http://localhost:9876", api_key_file=path)
    for memory in (by_file, rekall(api_key=current_token)):
        dumped = memory.dump_component()
        assert SECRET not in dumped.model_dump_json()
        loaded = RekallMemory.load_component(dumped)
        assert loaded.client.settings.account == memory.client.settings.account


@pytest.mark.parametrize(
    "setting",
    [
        {"transport": MockTransport(lambda request: Response(200))},
        {"network": NetworkPolicy(headers={"x": "y"})},
        {"verify": ssl.create_default_context()},
        {"cert": ("cert.pem", "key.pem", "passphrase")},
        {"redact": lambda text: text},
        {"api_key": lambda: SECRET},
    ],
    ids=lambda setting: next(iter(setting)),
)
def test_setting_without_a_declarative_form_is_named(setting: Mapping[str, Any]) -> None:
    memory = rekall(**setting)
    with pytest.raises(ConfigurationError, match=next(iter(setting))):
        memory.dump_component()


def test_function_that_cannot_be_imported_is_refused_on_load() -> None:
    dumped = rekall(redact=mask_names).dump_component()
    dumped.config["redact"] = "no.such.module:function"
    with pytest.raises(ConfigurationError, match="redact"):
        RekallMemory.load_component(dumped)


def test_providers_are_the_public_paths() -> None:
    assert rekall().dump_component().provider == "rekall_autogen.RekallMemory"
    assert memory_sync().dump_component().provider == "memotel.autogen.MemorySyncMemory"
    assert rekall_autogen.RekallMemory is memotel.autogen.RekallMemory


def test_dump_says_what_the_component_is() -> None:
    dumped = rekall().dump_component()
    assert (dumped.component_type, dumped.label) == ("memory", "RekallMemory")
    assert dumped.description == "Rekall as the long-term memory of an AutoGen agent."


def test_agent_with_memory_survives_the_round_trip() -> None:
    agent = AssistantAgent("a", ScriptedModel(["hi"]), memory=[rekall(**COMMON)])
    dumped = json.loads(agent.dump_component().model_dump_json())
    assert SECRET not in json.dumps(dumped)
    loaded = AssistantAgent.load_component(dumped)
    assert loaded.dump_component() == agent.dump_component()
    assert isinstance((loaded._memory or [])[0], RekallMemory)


def test_memory_tools_are_dumped_as_their_memory_not_as_code() -> None:
    tools = list(create_memory_tools(rekall()))
    agent = AssistantAgent("a", ScriptedModel(["hi"]), tools=list(tools))
    dumped = agent.dump_component().model_dump_json()
    assert SECRET not in dumped
    assert "source_code" not in dumped
    loaded = AssistantAgent.load_component(json.loads(dumped))
    assert loaded.dump_component().model_dump_json() == dumped


def test_memory_is_an_autogen_memory() -> None:
    assert isinstance(rekall(), Memory)
    assert isinstance(memory_sync(), Memory)
    component = ComponentModel(**rekall().dump_component().model_dump())
    assert isinstance(Memory.load_component(component), RekallMemory)
