"""Construction: what is given, what the environment adds, and what is refused with the name of the setting."""

from collections.abc import Mapping
from typing import Any, get_type_hints

import pytest

from memotel.autogen import MemorySyncMemory, RekallMemory
from memotel.autogen.arguments import Arguments, session_of_process
from memotel.config import WritePolicy
from memotel.errors import ConfigurationError
from memotel.settings import SETTINGS

URL = "http://localhost:9876"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REKALL_API_KEY", "REKALL_API_URL", "MEMORYSYNC_API_KEY", "MEMOTEL_DISABLED"):
        monkeypatch.delenv(name, raising=False)


def test_the_documented_line_constructs_a_memory() -> None:
    memory = RekallMemory(api_url=URL, api_key="rk_1")
    assert memory.client.settings.base_url == URL
    assert repr(memory) == f"RekallMemory(name='rekall', url='{URL}')"


def test_environment_gives_address_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REKALL_API_URL", "http://localhost:1234")
    monkeypatch.setenv("REKALL_API_KEY", "rk_env")
    memory = RekallMemory()
    assert memory.client.settings.base_url == "http://localhost:1234"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "REKALL_API_KEY"),
        ({"api_key": "rk_1", "access_token": "rat_1"}, "access_token"),
        ({"api_key": "rk_1", "top_k": 3, "limit": 4}, "limit"),
        ({"api_key": "rk_1", "placement": "middle"}, "placement"),
        ({"api_key": "rk_1", "capture": "all"}, "capture"),
        ({"api_key": "rk_1", "name": '"><x'}, "name"),
        ({"api_key": "rk_1", "user_names": "user"}, "user_names"),
        ({"api_key": "rk_1", "emit_event": "no"}, "emit_event"),
        ({"api_key": "rk_1", "recall_timeout": 0}, "recall_timeout"),
        ({"api_key": "rk_1", "no_such_setting": 1}, "no_such_setting"),
        ({"api_url": "ftp://x", "api_key": "rk_1"}, "api_url"),
        ({"api_url": "http://rekall.example", "api_key": "rk_1"}, "allow_insecure_http"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_argument_is_named(arguments: Mapping[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named) as caught:
        RekallMemory(**arguments)
    assert "rk_1" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("user_id", 5),
        ("session_id", 5),
        ("session_id", 0),
        ("session_id", ["s"]),
        ("name", 5),
        ("name", 0),
        ("user_names", 5),
        ("user_names", ["user", 5]),
        ("user_names", b"user"),
    ],
    ids=repr,
)
def test_argument_of_a_wrong_type_is_named(name: str, value: object) -> None:
    given: dict[str, Any] = {name: value}
    with pytest.raises(ConfigurationError, match=f"^{name} must be"):
        RekallMemory(URL, "rk_1", **given)


def test_user_of_a_wrong_type_is_named() -> None:
    wrong: Any = 5
    with pytest.raises(ConfigurationError, match=r"^user_id must be"):
        MemorySyncMemory(wrong, "k")


def test_headers_stand_in_for_a_key() -> None:
    memory = RekallMemory(URL, headers={"x-user-id": "ada"})
    assert memory.client.settings.credential is None


def test_limit_is_another_name_of_top_k() -> None:
    assert RekallMemory(URL, "rk_1", limit=9).client.settings.recall.top_k == 9


def test_write_timeout_is_the_policys_or_the_variables_or_5(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def budget(**given: Any) -> float:
        return RekallMemory(URL, "rk_1", **given).client.settings.writes.attempt_budget_s

    assert (budget(), budget(write_timeout=2.0)) == (5.0, 2.0)
    assert budget(writes=WritePolicy(attempt_budget_s=3.0)) == 3.0
    monkeypatch.setenv("MEMOTEL_WRITE_TIMEOUT", "4")
    assert budget() == 4.0


def test_memory_sync_needs_a_user() -> None:
    with pytest.raises(ConfigurationError, match="user_id"):
        MemorySyncMemory(user_id="", api_key="k")


def test_recalled_items_are_no_event_unless_asked_for() -> None:
    assert not RekallMemory(URL, "rk_1")._options.emit_event
    assert not MemorySyncMemory("ada", "k")._options.emit_event
    assert RekallMemory(URL, "rk_1", emit_event=True)._options.emit_event


def test_disabled_memory_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMOTEL_DISABLED", "all")
    assert RekallMemory().client.settings.switches.is_all_off


def test_every_setting_of_the_table_is_an_argument() -> None:
    missing = {setting.name for setting in SETTINGS} - set(get_type_hints(Arguments))
    assert not missing


def test_memories_without_a_session_share_one_in_their_process() -> None:
    one, other = RekallMemory(URL, "rk_1"), MemorySyncMemory("ada", "k")
    assert one._options.scope.session_id == other._options.scope.session_id != ""
    assert RekallMemory(URL, "rk_1", session_id="s1")._options.scope.session_id == "s1"
    assert session_of_process(1) != session_of_process(2)
