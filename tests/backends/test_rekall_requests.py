"""What Rekall is sent, byte for byte where it matters."""

import json
from dataclasses import replace

import pytest

from memotel.backends import RekallBackend
from memotel.backends.rekall import MAX_CONTENT_CHARS, MEMORY_TYPES
from memotel.errors import ConfigurationError, InvalidRequestError
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.outcomes import Adapter, Provider, Speaker
from memotel.values import Recall, Save, Scope, Search, Turn, Write

REKALL = RekallBackend()
ADA = Scope("ada", "s1")
TURN = Turn(
    ADA,
    Speaker.HUMAN,
    "I like tea",
    speaker_name="user",
    said_at="2026-11-02T12:00:00Z",
    source="ag2",
    metadata={"importance": 0.7},
)
WRITE = Write(TURN, key="k" * 32, account="a", accepted_at=1.0, adapter=Adapter.AG2)


def body_of(request: HttpRequest) -> dict:
    assert request.body is not None
    return json.loads(request.body)


def metadata_of(turn: Turn) -> dict:
    return body_of(REKALL.write_request(WRITE._replace(turn=turn), None))["metadata"]


def test_rekall_says_what_it_is() -> None:
    assert REKALL.provider is Provider.REKALL
    assert REKALL.write_operation == "create_memory"
    assert not REKALL.needs_tenant


def test_rekall_has_no_tenant() -> None:
    with pytest.raises(NotImplementedError):
        REKALL.tenant_request()
    with pytest.raises(NotImplementedError):
        REKALL.read_tenant(HttpResponse(200))


def test_credential_is_a_bearer() -> None:
    assert REKALL.credential_headers("rk_1") == (("Authorization", "Bearer rk_1"),)
    assert REKALL.credential_headers(None) == ()


@pytest.mark.parametrize("odd", ["", "rk\n1", " rk", "rk ", "clé", "rk\x00"])
def test_credential_that_no_header_carries_is_refused_unseen(odd: str) -> None:
    with pytest.raises(ConfigurationError, match="api_key") as caught:
        REKALL.credential_headers(odd)
    assert not odd.strip() or odd not in str(caught.value)


def test_recall_and_search_are_one_request() -> None:
    request = REKALL.recall_request(Recall(ADA, "tea?", top_k=3), None)
    assert (request.method, request.path) == ("POST", "/api/v2/memories/search")
    assert request.template == request.path
    assert request.headers == ()
    assert body_of(request) == {"query": "tea?", "limit": 3}
    assert REKALL.search_request(Search(ADA, "tea?", limit=3), None) == request


def test_write_carries_its_key_twice() -> None:
    request = REKALL.write_request(WRITE, None)
    assert (request.method, request.path) == ("POST", "/api/v2/memories")
    assert request.headers == (("Idempotency-Key", "k" * 32),)
    assert body_of(request)["metadata"]["idempotency_key"] == "k" * 32
    assert REKALL.idempotency_seed(WRITE) is None


def test_write_holds_the_words_and_who_said_them_when() -> None:
    assert body_of(REKALL.write_request(WRITE, None)) == {
        "content": "I like tea",
        "type": "semantic",
        "metadata": {
            "role": "user",
            "session_id": "s1",
            "speaker": "user",
            "said_at": "2026-11-02T12:00:00Z",
            "source": "ag2",
            "importance": 0.7,
            "user_id": "ada",
            "idempotency_key": "k" * 32,
        },
    }


def test_write_leaves_out_what_is_not_known() -> None:
    bare = Turn(Scope(), Speaker.OTHER, "a fact")
    assert metadata_of(bare) == {"idempotency_key": "k" * 32}


def test_write_of_an_agent_is_an_assistants() -> None:
    assert metadata_of(replace(TURN, speaker=Speaker.AI))["role"] == "assistant"


def test_write_keeps_the_turns_own_metadata_but_the_key() -> None:
    own = {"role": "doctor", "idempotency_key": "theirs"}
    metadata = metadata_of(replace(TURN, metadata=own))
    assert metadata["role"] == "doctor"
    assert metadata["idempotency_key"] == "k" * 32


def test_user_of_a_memory_is_the_scopes_whatever_its_metadata_says() -> None:
    own = {"user_id": "bob"}
    save = Save(ADA, "a fact", metadata=own)
    assert metadata_of(replace(TURN, metadata=own))["user_id"] == "ada"
    assert body_of(REKALL.save_request(save, None))["metadata"]["user_id"] == "ada"


def test_memory_of_no_user_keeps_what_its_metadata_says() -> None:
    turn = replace(TURN, scope=Scope(), metadata={"user_id": "bob"})
    assert metadata_of(turn)["user_id"] == "bob"


def test_user_without_a_utf8_form_is_refused() -> None:
    turn = replace(TURN, scope=Scope("ada\ud83d"))
    with pytest.raises(InvalidRequestError, match="user_id"):
        metadata_of(turn)


def answer_with(*metadata: object) -> HttpResponse:
    items = [{"id": f"mem_{n}", "content": "a fact", "metadata": m} for n, m in enumerate(metadata)]
    return HttpResponse(200, body=json.dumps({"data": items}).encode())


def test_memories_name_their_user_where_they_have_one() -> None:
    found = REKALL.read_search(
        answer_with({"user_id": "ada"}, {}, {"user_id": None}, {"user_id": ""}, {"user_id": 7})
    )
    assert [m.user_id for m in found.items] == ["ada", None, None, None, "7"]


@pytest.mark.parametrize("name", sorted(MEMORY_TYPES))
def test_write_has_the_documented_type_that_its_metadata_names(name: str) -> None:
    write = WRITE._replace(turn=replace(TURN, metadata={"type": name}))
    assert body_of(REKALL.write_request(write, None))["type"] == name


@pytest.mark.parametrize("odd", ["fact", "", None, 5, ["semantic"]])
def test_write_of_another_type_is_semantic_and_keeps_the_word(odd: object) -> None:
    write = WRITE._replace(turn=replace(TURN, metadata={"type": odd}))  # type: ignore[dict-item] # what an untyped caller may pass
    body = body_of(REKALL.write_request(write, None))
    assert (body["type"], body["metadata"]["type"]) == ("semantic", odd)


def test_write_of_what_rekall_takes_is_whole() -> None:
    long = "x" * MAX_CONTENT_CHARS
    write = WRITE._replace(turn=replace(TURN, text=long))
    assert body_of(REKALL.write_request(write, None))["content"] == long


def test_write_replaces_half_a_surrogate_pair() -> None:
    write = WRITE._replace(turn=replace(TURN, text="cut \ud83d"))
    assert body_of(REKALL.write_request(write, None))["content"] == "cut \ufffd"


def test_save_is_a_write_with_a_key_of_its_words() -> None:
    save = Save(ADA, "I like tea", source="tool", metadata={"type": "preferences"})
    request = REKALL.save_request(save, None)
    [(name, key)] = request.headers
    assert (name, len(key)) == ("Idempotency-Key", 32)
    assert body_of(request) == {
        "content": "I like tea",
        "type": "preferences",
        "metadata": {
            "source": "tool",
            "type": "preferences",
            "user_id": "ada",
            "idempotency_key": key,
        },
    }


def test_each_save_has_a_key_of_its_own_that_stays_with_it() -> None:
    first, second = Save(ADA, "likes tea"), Save(ADA, "likes tea")

    assert REKALL.save_request(first, None).headers == REKALL.save_request(first, None).headers
    assert REKALL.save_request(first, None).headers != REKALL.save_request(second, None).headers


def test_turn_longer_than_rekall_takes_is_cut_and_says_so() -> None:
    turn = Turn(ADA, Speaker.HUMAN, "x" * (MAX_CONTENT_CHARS + 1))

    request = REKALL.write_request(Write(turn, "key", "account", 0.0, Adapter.AG2), None)

    body = json.loads(request.body or b"")
    assert len(body["content"]) == MAX_CONTENT_CHARS
    assert body["metadata"]["truncated"] is True
