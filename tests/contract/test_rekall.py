"""Rekall v2, line by line, on the wire: what a client may rely on."""

import uuid
from typing import Any

import httpx
import pytest
from contract_site import Site

MEMORIES = "/api/v2/memories"
TYPES = [
    *("episodic", "semantic", "procedural", "long_term"),
    *("short_term", "execution", "preferences"),
]


def create(site: Site, content: str, key: str = "", **fields: object) -> httpx.Response:
    key = key or uuid.uuid4().hex
    body = {"content": content, "type": "semantic", "metadata": {}, **fields}
    return site.post(MEMORIES, body, Idempotency_Key=key)


def unwrapped(answer: Any) -> Any:
    """Take an answer out of the documented envelopes."""
    if not isinstance(answer, dict):
        return answer
    return next((answer[n] for n in ("data", "results", "memories") if n in answer), answer)


def searched(site: Site, query: str, limit: int = 5) -> list[dict[str, Any]]:
    answer = site.eventually(
        lambda: site.post(f"{MEMORIES}/search", {"query": query, "limit": limit}).json(),
        lambda found: bool(unwrapped(found)),
    )
    return list(unwrapped(answer))


def test_created_memory_is_returned(rekall: Site) -> None:
    response = create(rekall, "I drink sencha", metadata={"topic": "tea"})
    memory = unwrapped(response.json())
    assert response.status_code in (200, 201)
    assert memory["id"].startswith("mem_")
    assert (memory["type"], memory["content"]) == ("semantic", "I drink sencha")
    assert isinstance(memory["created_at"], str)


def test_created_memory_is_found(rekall: Site) -> None:
    word = f"w{uuid.uuid4().hex[:12]}"
    create(rekall, f"The word is {word}", metadata={"topic": "words"})
    memory = searched(rekall, f"word {word}")[0]
    assert memory["id"].startswith("mem_")
    assert word in memory["content"]
    assert memory["metadata"]["topic"] == "words"
    score = memory.get("score") or memory.get("relevance") or memory["similarity"]
    assert 0.0 < score <= 1.0


def test_search_returns_at_most_the_limit(rekall: Site) -> None:
    word = f"w{uuid.uuid4().hex[:12]}"
    for number in range(3):
        create(rekall, f"The word {word} number {number}")
    assert len(searched(rekall, word, limit=2)) == 2


@pytest.mark.parametrize("name", TYPES)
def test_each_memory_type_is_accepted(rekall: Site, name: str) -> None:
    response = create(rekall, f"A memory of type {name}", type=name)
    assert unwrapped(response.json())["type"] == name


def test_unknown_memory_type_is_an_error(rekall: Site) -> None:
    response = create(rekall, "I drink sencha", type="gossip")
    assert response.status_code in (400, 422)
    assert response.json()["error"]["code"].upper() in ("INVALID_MEMORY_TYPE", "VALIDATION_ERROR")


@pytest.mark.parametrize(("length", "is_good"), [(0, False), (50_000, True), (50_001, False)])
def test_content_has_one_to_fifty_thousand_characters(
    rekall: Site, length: int, is_good: bool
) -> None:
    response = create(rekall, "x" * length)
    assert response.is_success is is_good
    assert is_good or response.status_code in (400, 422)


def test_key_already_used_is_a_conflict(rekall: Site) -> None:
    key = uuid.uuid4().hex
    assert create(rekall, "I drink sencha", key).is_success
    assert create(rekall, "I drink sencha", key).status_code == 409


def test_key_in_the_metadata_counts_as_the_header_does(rekall: Site) -> None:
    key = uuid.uuid4().hex
    body = {"content": "I drink sencha", "type": "semantic", "metadata": {"idempotency_key": key}}
    assert rekall.post(MEMORIES, body).is_success
    assert create(rekall, "I drink sencha", key).status_code == 409


@pytest.mark.parametrize("path", [MEMORIES, f"{MEMORIES}/search"])
def test_every_route_needs_a_credential(rekall: Site, path: str) -> None:
    del rekall.client.headers["Authorization"]
    response = rekall.client.post(path, json={"content": "x", "query": "x", "limit": 1})
    assert response.status_code == 401
    assert response.json()["error"]["status"] == 401


def test_error_has_code_message_status_details_and_request_id(rekall: Site) -> None:
    error = create(rekall, "").json()["error"]
    assert set(error) >= {"code", "message", "status", "details", "request_id"}
    assert isinstance(error["code"], str)
    assert error["status"] in (400, 422)


def test_every_answer_tells_the_rate_limit(rekall: Site) -> None:
    for response in (create(rekall, "I drink sencha"), create(rekall, "")):
        limit = int(response.headers["X-RateLimit-Limit"])
        assert 0 <= int(response.headers["X-RateLimit-Remaining"]) <= limit
        assert int(response.headers["X-RateLimit-Reset"]) > 1_600_000_000
