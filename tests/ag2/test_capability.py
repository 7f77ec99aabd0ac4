"""The signatures that users know, and what they are told when a setting is wrong."""

import asyncio
import inspect
import subprocess
import sys
import threading
from typing import Any

import pytest

import ag2_memorysync
import ag2_memorysync.capability
import memotel.ag2
from ag2_memorysync import (
    DEFAULT_CONTEXT_TEMPLATE,
    MemorySyncAPIError,
    MemorySyncCapability,
    fnv1a64,
    register_memory_tools,
)
from memotel.ag2 import RekallCapability
from memotel.devserver import DevServer, Fault
from memotel.errors import (
    AuthenticationError,
    BudgetExceededError,
    ConfigurationError,
    MemotelError,
    TransportError,
)
from memotel.outcomes import Outcome


def made(**options: Any) -> MemorySyncCapability:
    return MemorySyncCapability(**{"user_id": "ada", "api_key": "k", **options})


def test_names_that_users_import() -> None:
    assert ag2_memorysync.__all__ == sorted(ag2_memorysync.__all__)
    assert ag2_memorysync.capability.MemorySyncCapability is MemorySyncCapability
    assert memotel.ag2.MemorySyncCapability is MemorySyncCapability
    assert memotel.ag2.MemorySyncAPIError is MemorySyncAPIError
    assert memotel.ag2.register_memory_tools is register_memory_tools
    assert callable(ag2_memorysync.capability.speaks_for_a_person)
    assert fnv1a64("human:hello") == "dc7ad99e64417378"
    assert DEFAULT_CONTEXT_TEMPLATE == "Relevant user memories (MemorySync):\n{context}\n\n"


def test_importing_it_does_not_import_autogen() -> None:
    code = "import sys, ag2_memorysync.capability; sys.exit('autogen' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_user_and_session_are_attributes() -> None:
    memory = made(session_id="s1")
    assert (memory.user_id, memory.session_id) == ("ada", "s1")


def test_a_session_of_its_own_is_stable() -> None:
    first, second = made(), made()
    assert first.session_id == first.session_id
    assert first.session_id
    assert first.session_id != second.session_id


def test_user_id_is_required() -> None:
    with pytest.raises(TypeError, match="user_id"):
        MemorySyncCapability(api_key="k")  # type: ignore[call-arg] # what is tested


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"user_id": ""}, "user_id must be a text that is not empty, not ''"),
        ({"user_id": "  "}, "user_id must be a text"),
        ({"user_id": None}, "user_id must be a text that is not empty, not None"),
        ({"user_id": 7}, "user_id must be a text that is not empty, not 7"),
        ({"session_id": ""}, "session_id must be a text that is not empty"),
        ({"capture": "all"}, "capture must be 'both', 'received' or 'sent', not 'all'"),
        (
            {"persist_roles": ("human", "robot")},
            "persist_roles must be a tuple of 'human' and 'ai'",
        ),
        ({"persist_roles": "human"}, "persist_roles must be"),
        ({"persist_roles": 7}, "persist_roles must be"),
        ({"context_template": "nothing"}, "context_template must be a text that holds {context}"),
        ({"source": ""}, "source must be a text"),
        ({"top_k": 0}, "top_k must be a whole number from 1 up, not 0"),
        ({"recall_timeout": 0}, "recall_timeout must be a number of seconds above 0, not 0"),
        ({"recall_timeout": "soon"}, "recall_timeout must be"),
        ({"min_prompt_chars": -1}, "min_prompt_chars must be"),
        ({"min_score": 2}, "min_score must be a number from 0 to 1, not 2"),
        ({"base_url": "memory"}, "base_url must be an http:// or https:// URL, not 'memory'"),
        ({"base_url": "http://memory.example"}, "base_url must be https://"),
        ({"api_key": "", "base_url": None}, "api_key must be"),
        ({"on_full": "cry"}, "on_full must be one of drop_newest, raise"),
        ({"recal_timeout": 1.0}, "recal_timeout is not a setting"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        made(**options)
    assert message in str(raised.value)
    assert isinstance(raised.value, ValueError)


def test_a_missing_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORYSYNC_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="MEMORYSYNC_API_KEY"):
        MemorySyncCapability(user_id="ada")
    monkeypatch.setenv("MEMORYSYNC_API_KEY", "from-environment")
    assert MemorySyncCapability(user_id="ada").user_id == "ada"


def test_every_setting_of_design_is_accepted_by_name(tmp_path: Any) -> None:
    key = tmp_path / "key"
    key.write_text("secret\n")
    memory = MemorySyncCapability(
        user_id="ada",
        api_key_file=key,
        base_url="http://memory.example",
        project_id="proj_0123456789abcdef",
        top_k=3,
        recall_timeout=0.5,
        min_prompt_chars=4,
        min_score=0.2,
        max_prompt_chars=1000,
        max_context_chars=2000,
        max_recalls_in_flight=4,
        write_timeout=2.0,
        exit_drain_timeout=1.0,
        outbox="memory",
        outbox_max_writes=10,
        outbox_max_bytes=10_000,
        on_full="raise",
        redact=str.upper,
        proxy="",
        verify=True,
        headers={"X-Team": "support"},
        keepalive=10.0,
        propagate=False,
        record_session_id=False,
        allow_insecure_http=True,
        account="support",
    )
    settings = memory.client.settings
    assert settings.recall.top_k == 3
    assert settings.outbox.on_full == "raise"
    assert settings.network.headers == {"X-Team": "support"}
    assert "secret" not in repr(memory) + repr(settings)


def test_nothing_starts_when_it_is_made_or_attached() -> None:
    from autogen import ConversableAgent

    before = set(threading.enumerate())
    memory = made(base_url="http://127.0.0.1:9")
    memory.add_to_agent(ConversableAgent("a", llm_config=False))
    assert set(threading.enumerate()) == before
    assert inspect.signature(MemorySyncCapability).parameters["context_template"].default == (
        DEFAULT_CONTEXT_TEMPLATE
    )


def test_search_returns_the_services_dicts(memory_server: DevServer) -> None:
    with made(base_url=memory_server.url) as memory:
        saved = memory.save("Ada drinks oolong tea in the morning")
        assert saved["id"]
        found = memory.search("what does Ada drink", limit=3)
    assert len(found) == 1
    assert found[0]["value"] == "Ada drinks oolong tea in the morning"
    assert set(found[0]) >= {"memory_id", "value", "score"}


def test_search_and_save_have_asynchronous_forms(memory_server: DevServer) -> None:
    async def use() -> list[dict[str, Any]]:
        async with made(base_url=memory_server.url) as memory:
            await memory.asave("Ada drinks oolong tea in the morning")
            return await memory.asearch("what does Ada drink")

    assert asyncio.run(use())[0]["value"] == "Ada drinks oolong tea in the morning"


@pytest.mark.parametrize("call", ["search", "save"])
def test_explicit_calls_raise_the_error_that_users_know(
    memory_server: DevServer, call: str
) -> None:
    memory_server.faults.set(Fault("status", "*", status=401))
    memory = made(base_url=memory_server.url)
    with memory, pytest.raises(MemorySyncAPIError) as raised:
        getattr(memory, call)("what does Ada drink")
    error = raised.value
    assert isinstance(error, MemotelError)
    assert error.status_code in (401, 403)
    assert isinstance(error.__cause__, AuthenticationError)
    assert error.outcome is Outcome.REJECTED
    assert error.is_retryable is False
    assert error.error_type == "auth"


def test_an_unreachable_service_raises_it_too() -> None:
    memory = made(base_url="http://127.0.0.1:9", recall_timeout=0.5)
    with memory, pytest.raises(MemorySyncAPIError) as raised:
        memory.search("what does Ada drink")
    assert raised.value.status_code is None
    assert isinstance(raised.value.__cause__, TransportError | BudgetExceededError)


def test_an_empty_query_is_refused(memory_server: DevServer) -> None:
    with made(base_url=memory_server.url) as memory, pytest.raises(MemorySyncAPIError):
        memory.search("  ")


def test_rekall_serves_ag2_as_well(memory_server: DevServer) -> None:
    with RekallCapability(api_url=memory_server.url, api_key="rk_test") as memory:
        memory.save("Ada drinks oolong tea in the morning")
        found = memory.search("what does Ada drink")
        assert memory.user_id == ""
    assert found[0]["content"] == "Ada drinks oolong tea in the morning"


def test_rekall_takes_a_key_or_a_token_and_not_both() -> None:
    with pytest.raises(ConfigurationError, match="api_key and access_token are both given"):
        RekallCapability(api_key="rk_x", access_token="rat_x")
    assert RekallCapability(access_token="rat_x").client.settings.credential is not None
    assert RekallCapability(headers={"x-user-id": "ada"}).client.settings.credential is None


def test_rekall_raises_typed_errors(memory_server: DevServer) -> None:
    memory_server.faults.set(Fault("status", "*", status=401))
    memory = RekallCapability(api_url=memory_server.url, api_key="rk_test")
    with memory, pytest.raises(AuthenticationError):
        memory.search("what does Ada drink")


def test_paused_keeps_and_recalls_nothing(memory_server: DevServer) -> None:
    with made(base_url=memory_server.url) as memory:
        with memory.paused():
            assert memory.client.recall(
                memory._scopes.current(), "what does Ada drink"
            ).outcome is (Outcome.SKIPPED)
        assert memory.stats().totals is not None
    memory.close()


def test_warm_answers_whether_it_is(memory_server: DevServer) -> None:
    with made(base_url=memory_server.url) as memory:
        assert memory.warm(5.0) is True
        assert asyncio.run(memory.awarm(5.0)) is True
