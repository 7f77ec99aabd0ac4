"""MemorySync v1, line by line, on the wire: what a client may rely on."""

import re
from typing import Any
from urllib.parse import quote

import pytest
from contract_site import Site

REQUEST_ID = re.compile(r"\S+")


@pytest.fixture
def tenant(memorysync: Site) -> str:
    response = memorysync.client.get("/org/projects")
    return "default" if response.status_code in (401, 403) else response.json()[0]["tenant_id"]


def turn(tenant: str, user: str, text: str, **fields: object) -> dict[str, object]:
    said_by = "ai" if text.startswith("ai: ") else "human"
    return {
        "tenant_id": tenant,
        "user_id": user,
        "source": "ag2",
        "text": text,
        "role": "assistant" if said_by == "ai" else "user",
        "speaker": f"{said_by}@ag2::contract#h0123456789abcdef",
        "metadata": {"session_id": "ag2::contract"},
        "sync_embed": False,
        **fields,
    }


def add(site: Site, tenant: str, user: str, text: str, **fields: object) -> dict[str, Any]:
    response = site.post("/v1/memory/add_turn", turn(tenant, user, text, **fields))
    assert response.is_success, response.text
    return dict(response.json())


def recalled(site: Site, tenant: str, user: str, prompt: str, text: str = "") -> dict[str, Any]:
    """Recall until the text is in the context, which is at once when none is expected."""
    asked = {"tenant_id": tenant, "user_id": user, "prompt": prompt, "k": 5}
    return site.eventually(
        lambda: site.post("/v1/memory/recall", asked).json(),
        lambda answer: text in answer["context"],
    )


def test_projects_name_the_tenant(memorysync: Site) -> None:
    response = memorysync.client.get("/org/projects")
    assert response.status_code == 200
    assert isinstance(response.json()[0]["tenant_id"], str)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/org/projects"),
        ("POST", "/v1/memory/recall"),
        ("POST", "/v1/memory/query"),
        ("POST", "/v1/memory/add_turn"),
        ("POST", "/memory/add"),
        ("GET", "/v1/memory/default/ada/list"),
    ],
)
def test_every_route_needs_a_key(memorysync: Site, method: str, path: str) -> None:
    del memorysync.client.headers["X-API-Key"]
    response = memorysync.client.request(method, path, json={} if method == "POST" else None)
    assert response.status_code in (401, 403)
    assert "detail" in response.json()


def test_every_answer_has_a_request_id(memorysync: Site, tenant: str, user: str) -> None:
    answers = [
        memorysync.client.get("/org/projects"),
        memorysync.client.get("/no/such/path"),
        memorysync.post("/v1/memory/add_turn", {}),
        memorysync.post("/v1/memory/add_turn", turn(tenant, user, "human: I live in Oslo")),
    ]
    ids = [answer.headers["X-Request-ID"] for answer in answers]
    assert len(set(ids)) == len(answers)
    assert all(REQUEST_ID.fullmatch(request_id) for request_id in ids)


def test_persons_turn_is_stored(memorysync: Site, tenant: str, user: str) -> None:
    body = turn(tenant, user, "human: my favourite tea is sencha")
    response = memorysync.post("/v1/memory/add_turn", body)
    answer = response.json()
    assert response.status_code == 201
    assert answer["memory_id"] is None
    assert answer["status"] in ("processing", "ok")
    assert answer["processing_status"] == "distilling"
    assert answer["already_exists"] is False
    assert answer["request_id"] == response.headers["X-Request-ID"]


def test_stored_turn_is_recalled_as_a_ready_block(memorysync: Site, tenant: str, user: str) -> None:
    add(memorysync, tenant, user, "human: my favourite tea is sencha")
    answer = recalled(memorysync, tenant, user, "which tea is my favourite?", "sencha")
    assert "sencha" in answer["context"]
    assert len(answer["memories"]) == 1


def test_query_returns_scored_memories(memorysync: Site, tenant: str, user: str) -> None:
    add(memorysync, tenant, user, "human: my favourite tea is sencha")
    asked = {"tenant_id": tenant, "user_id": user, "prompt": "favourite tea", "k": 5}
    answer = memorysync.eventually(
        lambda: memorysync.post("/v1/memory/query", asked).json(), lambda a: bool(a["memories"])
    )
    (memory,) = answer["memories"]
    assert memory["memory_id"].startswith("m_")
    assert "sencha" in (memory.get("value") or memory.get("text") or memory["raw_text"])
    assert 0.0 <= memory["score"] <= 1.0


def test_query_returns_the_best_first_and_at_most_k(
    memorysync: Site, tenant: str, user: str
) -> None:
    for drink in ("sencha tea", "black coffee", "sencha tea with honey", "mint tea"):
        add(memorysync, tenant, user, f"human: I drink {drink}", speaker=f"human@s#{drink}")
    asked = {"tenant_id": tenant, "user_id": user, "prompt": "sencha tea with honey", "k": 2}
    answer = memorysync.eventually(
        lambda: memorysync.post("/v1/memory/query", asked).json(),
        lambda a: len(a["memories"]) == 2,
    )
    scores = [memory["score"] for memory in answer["memories"]]
    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)


def test_nothing_relevant_is_an_empty_answer(memorysync: Site, tenant: str, user: str) -> None:
    answer = recalled(memorysync, tenant, user, "what do I know about glaciers?")
    assert answer == {"context": "", "memories": []}


def test_same_speaker_time_and_text_is_a_replay(memorysync: Site, tenant: str, user: str) -> None:
    text = "human: my favourite tea is sencha"
    add(memorysync, tenant, user, text)
    again = add(memorysync, tenant, user, text, metadata={"said_at": "2026-11-30T12:00:00Z"})
    assert again["processing_status"] == "skipped_replay"
    assert again["already_exists"] is True


@pytest.mark.parametrize(
    "other",
    [
        {"speaker": "human@ag2::contract#h0123456789abcdef#2"},
        {"occurred_at": "2026-11-30T12:00:00Z"},
        {"text": "human: my favourite tea is assam"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_another_speaker_time_or_text_is_no_replay(
    memorysync: Site, tenant: str, user: str, other: dict[str, str]
) -> None:
    text = "human: my favourite tea is sencha"
    add(memorysync, tenant, user, text)
    body = {**turn(tenant, user, text), **other}
    answer = memorysync.post("/v1/memory/add_turn", body).json()
    assert (answer["processing_status"], answer["already_exists"]) == ("distilling", False)


def test_same_turn_of_another_user_is_stored(memorysync: Site, tenant: str, user: str) -> None:
    text = "human: my favourite tea is sencha"
    add(memorysync, tenant, user, text)
    assert add(memorysync, tenant, f"{user}-b", text)["processing_status"] == "distilling"


def test_agents_turn_becomes_no_fact(memorysync: Site, tenant: str, user: str) -> None:
    answer = add(memorysync, tenant, user, "ai: Norway's capital is Oslo")
    assert answer["processing_status"] == "skipped_non_user_turn"
    assert recalled(memorysync, tenant, user, "Norway's capital")["memories"] == []


@pytest.mark.parametrize("text", ["ok", "Thanks!", "thank you", "👍"])
def test_courtesy_holds_no_fact(memorysync: Site, tenant: str, user: str, text: str) -> None:
    answer = add(memorysync, tenant, user, f"human: {text}")
    assert answer["processing_status"] == "skipped_low_value"


def test_add_stores_a_note_of_the_end_user(memorysync: Site, tenant: str, user: str) -> None:
    note = {"text": "My dog is called Rex", "source": "ag2", "metadata": {}}
    answer = memorysync.post("/memory/add", note, X_End_User_ID=user).json()
    assert isinstance(answer["id"], int)
    assert answer["text"] == "My dog is called Rex"
    assert "Rex" in recalled(memorysync, tenant, user, "what is my dog called?", "Rex")["context"]


def test_add_needs_the_end_user(memorysync: Site) -> None:
    response = memorysync.post("/memory/add", {"text": "My dog is called Rex"})
    assert response.status_code == 400
    assert "MISSING_END_USER_ID" in response.text


def test_add_skips_what_holds_nothing(memorysync: Site, user: str) -> None:
    answer = memorysync.post("/memory/add", {"text": "ok"}, X_End_User_ID=user).json()
    assert answer["status"] == "skipped"
    assert isinstance(answer["reason"], str)


def test_list_takes_encoded_path_parts(memorysync: Site, tenant: str, user: str) -> None:
    odd = f"{user}/a b%?#é"
    add(memorysync, tenant, odd, "human: my favourite tea is sencha")
    path = f"/v1/memory/{quote(tenant, safe='')}/{quote(odd, safe='')}/list"
    answer = memorysync.eventually(
        lambda: memorysync.client.get(path, params={"limit": 10}).json(),
        lambda a: bool(a["memories"]),
    )
    assert len(answer["memories"]) == 1


def test_users_are_strangers_to_each_other(memorysync: Site, tenant: str, user: str) -> None:
    add(memorysync, tenant, user, "human: my favourite tea is sencha")
    recalled(memorysync, tenant, user, "favourite tea", "sencha")
    assert recalled(memorysync, tenant, f"{user}-b", "favourite tea")["memories"] == []


def test_missing_fields_are_listed(memorysync: Site, tenant: str) -> None:
    response = memorysync.post("/v1/memory/recall", {"tenant_id": tenant})
    assert response.status_code == 422
    assert all(isinstance(problem["msg"], str) for problem in response.json()["detail"])
