"""What MemorySync is sent, byte for byte where convergence with its own adapters depends on it."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotel.backends import MemorySyncBackend
from memotel.backends.fingerprints import fnv1a64
from memotel.backends.memorysync_turn import MAX_TEXT_CHARS
from memotel.errors import ConfigurationError, InvalidRequestError
from memotel.http.messages import HttpRequest
from memotel.outcomes import Adapter, Provider, Speaker
from memotel.values import Recall, Save, Scope, Search, Turn, Write

MEMORYSYNC = MemorySyncBackend()
ADA = Scope("ada", "s1")
TURN = Turn(ADA, Speaker.HUMAN, "hello", said_at="2026-11-02T12:00:00Z", metadata={"topic": "tea"})
WRITE = Write(TURN, key="k" * 32, account="a", accepted_at=1.0, adapter=Adapter.AG2)


def body_of(request: HttpRequest) -> dict:
    assert request.body is not None
    return json.loads(request.body)


def sent(turn: Turn = TURN, **changes: object) -> dict:
    write = WRITE._replace(turn=turn, **changes)
    return body_of(MEMORYSYNC.write_request(write, "t1"))


def test_memorysync_says_what_it_is() -> None:
    assert MEMORYSYNC.provider is Provider.MEMORYSYNC
    assert MEMORYSYNC.write_operation == "upsert_memory"
    assert MEMORYSYNC.needs_tenant


def test_credential_and_project_are_headers() -> None:
    project = "proj_0123456789abcdef"
    key, in_project = ("X-API-Key", "ms_1"), ("X-Project-ID", project)
    assert MEMORYSYNC.credential_headers("ms_1") == (key,)
    assert MEMORYSYNC.credential_headers(None) == ()
    assert MemorySyncBackend(project).credential_headers("ms_1") == (key, in_project)
    assert MemorySyncBackend(project).credential_headers(None) == (in_project,)


@pytest.mark.parametrize("odd", ["", "ms\n1", " ms", "clé"])
def test_credential_or_project_that_no_header_carries_is_refused(odd: str) -> None:
    with pytest.raises(ConfigurationError, match="api_key"):
        MEMORYSYNC.credential_headers(odd)
    with pytest.raises(ConfigurationError, match="project_id"):
        MemorySyncBackend(odd)


def test_tenant_look_up_lists_projects() -> None:
    assert MEMORYSYNC.tenant_request() == HttpRequest("GET", "/org/projects", "/org/projects")


def test_recall_and_query_ask_for_one_user() -> None:
    asked = {"tenant_id": "t1", "user_id": "ada", "prompt": "tea?", "k": 3}
    recall = MEMORYSYNC.recall_request(Recall(ADA, "tea?", top_k=3), "t1")
    query = MEMORYSYNC.search_request(Search(ADA, "tea?", limit=3), "t1")
    assert (recall.method, recall.path, body_of(recall)) == ("POST", "/v1/memory/recall", asked)
    assert (query.method, query.path, body_of(query)) == ("POST", "/v1/memory/query", asked)


def test_request_without_a_tenant_is_our_own_mistake() -> None:
    with pytest.raises(ValueError, match="tenant"):
        MEMORYSYNC.recall_request(Recall(ADA, "tea?"), None)


def test_user_id_that_would_arrive_as_anothers_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="user_id"):
        MEMORYSYNC.recall_request(Recall(Scope("\ud800"), "tea?"), "t1")


def test_turn_is_sent_exactly_as_the_services_own_adapters_do() -> None:
    request = MEMORYSYNC.write_request(WRITE, "t1")
    assert (request.method, request.path) == ("POST", "/v1/memory/add_turn")
    assert body_of(request) == {
        "tenant_id": "t1",
        "user_id": "ada",
        "source": "ag2",
        "text": "human: hello",
        "role": "user",
        "speaker": "human@ag2::s1#hdc7ad99e64417378",
        "metadata": {
            "topic": "tea",
            "said_at": "2026-11-02T12:00:00Z",
            "session_id": "ag2::s1",
        },
        "sync_embed": False,
    }
    assert MEMORYSYNC.idempotency_seed(WRITE) == "human@ag2::s1#hdc7ad99e64417378"


def test_turn_of_an_agent_is_an_ais() -> None:
    body = sent(replace(TURN, speaker=Speaker.AI))
    assert (body["text"], body["role"]) == ("ai: hello", "assistant")
    assert body["speaker"] == f"ai@ag2::s1#h{fnv1a64('ai:hello')}"


def test_turn_of_neither_is_never_a_persons() -> None:
    assert sent(replace(TURN, speaker=Speaker.OTHER))["role"] == "assistant"


@pytest.mark.parametrize(
    ("adapter", "framework"),
    [
        (Adapter.AG2, "ag2"),
        (Adapter.AG2_V1, "ag2"),
        (Adapter.AUTOGEN, "autogen"),
        (Adapter.AGENT_FRAMEWORK, "agent_framework"),
        (Adapter.DIRECT, "direct"),
    ],
)
def test_turn_names_its_framework(adapter: Adapter, framework: str) -> None:
    body = sent(adapter=adapter)
    assert body["source"] == framework
    assert body["metadata"]["session_id"] == f"{framework}::s1"
    assert body["speaker"].startswith(f"human@{framework}::s1#h")


def test_turn_keeps_a_source_of_its_own_and_the_session_of_its_framework() -> None:
    body = sent(replace(TURN, source="support-bot"))
    assert (body["source"], body["metadata"]["session_id"]) == ("support-bot", "ag2::s1")


@pytest.mark.parametrize(("occurrence", "end"), [(1, ""), (2, "#2"), (3, "#3")])
def test_turn_said_again_on_purpose_has_a_speaker_of_its_own(occurrence: int, end: str) -> None:
    assert sent(occurrence=occurrence)["speaker"] == f"human@ag2::s1#hdc7ad99e64417378{end}"


def test_turn_is_cut_before_it_is_hashed() -> None:
    long = "x" * (MAX_TEXT_CHARS + 1)
    body = sent(replace(TURN, text=long))
    kept = "x" * MAX_TEXT_CHARS
    assert body["text"] == f"human: {kept}"
    assert body["speaker"].endswith(f"#h{fnv1a64(f'human:{kept}')}")
    assert body["speaker"] == sent(replace(TURN, text=long + "y"))["speaker"]


def test_turn_keeps_its_own_metadata_but_the_session() -> None:
    own = {"said_at": "yesterday", "session_id": "theirs"}
    metadata = sent(replace(TURN, metadata=own))["metadata"]
    assert metadata == {"said_at": "yesterday", "session_id": "ag2::s1"}


def test_turn_has_no_time_where_none_is_known() -> None:
    assert sent(Turn(ADA, Speaker.HUMAN, "hi"))["metadata"] == {"session_id": "ag2::s1"}


@given(
    text=st.text(st.characters(codec=None, exclude_categories=())),
    speaker=st.sampled_from(Speaker),
    occurrence=st.integers(1, 5),
)
def test_same_write_is_always_the_same_request(
    text: str, speaker: Speaker, occurrence: int
) -> None:
    write = WRITE._replace(turn=replace(TURN, text=text, speaker=speaker), occurrence=occurrence)
    request = MEMORYSYNC.write_request(write, "t1")
    assert MEMORYSYNC.write_request(write._replace(), "t1") == request
    body = body_of(request)
    assert body["speaker"] == MEMORYSYNC.idempotency_seed(write)
    role, _, words = body["text"].partition(": ")
    assert f"#h{fnv1a64(f'{role}:{words}')}" in body["speaker"]


def test_add_names_its_user_in_a_header() -> None:
    request = MEMORYSYNC.save_request(Save(ADA, "likes tea", "tool", {"a": 1}), "t1")
    assert (request.method, request.path) == ("POST", "/memory/add")
    assert request.headers == (("X-End-User-ID", "ada"),)
    assert body_of(request) == {"text": "likes tea", "source": "tool", "metadata": {"a": 1}}


@pytest.mark.parametrize("user", ["", "a\r\nX-API-Key: x", " ada", "ada ", "zoë"])
def test_add_refuses_a_user_that_would_arrive_as_another(user: str) -> None:
    with pytest.raises(InvalidRequestError, match="user_id"):
        MEMORYSYNC.save_request(Save(Scope(user), "likes tea"), "t1")


@pytest.mark.parametrize(
    ("tenant", "user", "path"),
    [
        ("t1", "ada", "/v1/memory/t1/ada/list?limit=7"),
        ("t/1", "a b?c#d%/é", "/v1/memory/t%2F1/a%20b%3Fc%23d%25%2F%C3%A9/list?limit=7"),
        ("..", ".", "/v1/memory/%2E%2E/%2E/list?limit=7"),
        ("t.1", "a.b", "/v1/memory/t.1/a.b/list?limit=7"),
    ],
)
def test_list_encodes_each_part_of_its_path(tenant: str, user: str, path: str) -> None:
    request = MEMORYSYNC.list_request(Scope(user), tenant, 7)
    assert (request.method, request.path) == ("GET", path)
    assert request.template == "/v1/memory/{tenant}/{user}/list"
