"""MemorySync v1: quotas, limits, keys and time, which only the development server can be told."""

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from devserver_http import local_client

from memotel.devserver import (
    MEMORYSYNC_FREE,
    DevServer,
    Fault,
    Permission,
    QuotaMode,
    RateLimit,
    Shapes,
)
from memotel.devserver.shapes import ErrorShape, QuotaEvidence, TextField

DAY_S = 24 * 3600.0


@pytest.fixture
def client(server: DevServer) -> Iterator[httpx.Client]:
    with local_client(server.url, {"X-API-Key": "key"}) as client:
        yield client


def add(client: httpx.Client, text: str = "human: I drink sencha") -> httpx.Response:
    body = {"tenant_id": "default", "user_id": "ada", "text": text, "speaker": "human@s"}
    return client.post("/v1/memory/add_turn", json=body)


def ask(client: httpx.Client, call: str, tenant: str = "default") -> httpx.Response:
    body = {"tenant_id": tenant, "user_id": "ada", "prompt": "sencha", "k": 5}
    return client.post(f"/v1/memory/{call}", json=body)


def note(client: httpx.Client) -> httpx.Response:
    headers = {"X-End-User-ID": "ada"}
    return client.post("/memory/add", json={"text": "I own a dog"}, headers=headers)


def test_replay_is_recognised_for_thirty_days(server: DevServer, client: httpx.Client) -> None:
    statuses = [add(client).json()["processing_status"]]
    server.advance(30 * DAY_S - 60)
    statuses.append(add(client).json()["processing_status"])
    server.advance(120)
    statuses.append(add(client).json()["processing_status"])
    assert statuses == ["distilling", "skipped_replay", "distilling"]
    assert [item.deliveries for item in server.items("ada")] == [2, 1]


def test_silent_quota_stores_and_finds_nothing_and_says_ok(
    server: DevServer, client: httpx.Client
) -> None:
    add(client)
    server.set_quota(0)
    answer = add(client, "human: I live in Oslo")
    assert answer.status_code == 200
    assert answer.json()["processing_status"] == "skipped"
    assert answer.json()["already_exists"] is False
    assert ask(client, "recall").json() == {"context": "", "memories": []}
    assert ask(client, "query").json() == {"memories": []}
    assert note(client).json() == {"status": "ok"}
    assert len(server.items("ada")) == 1


def test_silent_quota_can_show_as_a_bare_ok(server: DevServer, client: httpx.Client) -> None:
    server.set_quota(0)
    server.set_shapes(Shapes(quota_evidence=QuotaEvidence.BARE_OK))
    assert add(client).json() == {"status": "ok"}


def test_quota_counts_every_add_also_what_stores_nothing(
    server: DevServer, client: httpx.Client
) -> None:
    server.set_quota(3)
    texts = ["human: I drink sencha", "human: I drink sencha", "ai: noted", "human: I live in Oslo"]
    statuses = [add(client, text).json()["processing_status"] for text in texts]
    assert statuses[0] == "distilling"
    assert statuses[3] == "skipped"


def test_lifted_quota_serves_again(server: DevServer, client: httpx.Client) -> None:
    add(client)
    server.set_quota(0)
    assert ask(client, "recall").json()["context"] == ""
    server.set_quota(None)
    assert ask(client, "recall").json()["context"] == "- I drink sencha"


def test_strict_quota_is_a_429_that_says_limit_exceeded(
    server: DevServer, client: httpx.Client
) -> None:
    server.set_quota(0, QuotaMode.STRICT)
    for response in (add(client), ask(client, "recall"), ask(client, "query"), note(client)):
        assert response.status_code == 429
        assert response.json()["detail"]["error"] == "limit_exceeded"
        assert isinstance(response.json()["detail"]["message"], str)


def test_rate_limit_is_told_in_headers_and_ends(server: DevServer, client: httpx.Client) -> None:
    server.set_rate_limit(RateLimit(per_min=2))
    answers = [ask(client, "recall") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer.headers["X-RateLimit-Remaining"] for answer in answers] == ["1", "0", "0"]
    assert {answer.headers["X-RateLimit-Limit"] for answer in answers} == {"2"}
    assert 1 <= int(answers[2].headers["Retry-After"]) <= 60
    assert answers[2].json() == {"detail": "Rate limit exceeded."}
    server.advance(float(answers[2].headers["Retry-After"]))
    assert ask(client, "recall").status_code == 200


def test_free_plan_allows_two_a_second(server: DevServer, client: httpx.Client) -> None:
    server.set_rate_limit(MEMORYSYNC_FREE)
    statuses = [ask(client, "recall").status_code for _ in range(5)]
    assert statuses.count(429) >= 1
    assert statuses[:2] == [200, 200]


def test_rate_limit_is_per_key(server: DevServer, client: httpx.Client) -> None:
    server.set_rate_limit(RateLimit(per_hour=1))
    assert ask(client, "recall").status_code == 200
    assert ask(client, "recall").status_code == 429
    other = client.post(
        "/v1/memory/recall",
        json={"tenant_id": "default", "user_id": "ada", "prompt": "sencha"},
        headers={"X-API-Key": "other"},
    )
    assert other.status_code == 200


def test_key_without_the_projects_scope_has_the_tenant_default(
    server: DevServer, client: httpx.Client
) -> None:
    server.permit("key", Permission.READ, Permission.WRITE)
    assert client.get("/org/projects").status_code == 403
    assert add(client).status_code == 201
    assert note(client).json()["id"] > 0
    assert {item.scope.tenant for item in server.items("ada")} == {"default"}


def test_missing_read_or_write_scope_is_a_403(server: DevServer, client: httpx.Client) -> None:
    server.permit("key", Permission.READ)
    assert [add(client).status_code, note(client).status_code] == [403, 403]
    server.permit("key", Permission.WRITE)
    assert [ask(client, call).status_code for call in ("recall", "query")] == [403, 403]


def test_tenant_of_another_key_is_forbidden(client: httpx.Client) -> None:
    other = client.get("/org/projects", headers={"X-API-Key": "other"}).json()[0]["tenant_id"]
    assert ask(client, "recall", tenant=other).status_code == 403
    assert client.get(f"/v1/memory/{other}/ada/list").status_code == 403


def test_revoked_and_unknown_keys_are_refused() -> None:
    with ExitStack() as stack:
        server = stack.enter_context(DevServer(keys=["known"]))
        client = stack.enter_context(local_client(server.url, {"X-API-Key": "known"}))
        assert ask(client, "recall").status_code == 200
        server.revoke("known")
        assert ask(client, "recall").status_code == 401
        server.restore("known")
        assert ask(client, "recall").status_code == 200
        client.headers["X-API-Key"] = "unknown"
        assert ask(client, "recall").json() == {"detail": "The API key is invalid."}


@pytest.mark.parametrize("project", ["proj_1", "proj_0123456789ABCDEF", "0123456789abcdef"])
def test_project_id_is_proj_and_sixteen_hex_digits(client: httpx.Client, project: str) -> None:
    client.headers["X-Project-ID"] = project
    assert ask(client, "recall").status_code == 400


def test_projects_keep_their_memories_apart(client: httpx.Client) -> None:
    client.headers["X-Project-ID"] = "proj_0123456789abcdef"
    add(client)
    assert ask(client, "recall").json()["context"] == "- I drink sencha"
    client.headers["X-Project-ID"] = "proj_ffffffffffffffff"
    assert ask(client, "recall").json()["context"] == ""


@pytest.mark.parametrize("name", TextField)
def test_text_stands_under_each_documented_name(
    server: DevServer, client: httpx.Client, name: TextField
) -> None:
    server.set_shapes(Shapes(text=name))
    add(client)
    assert ask(client, "query").json()["memories"][0][name] == "I drink sencha"


def test_error_can_stand_under_error(server: DevServer, client: httpx.Client) -> None:
    server.set_shapes(Shapes(error=ErrorShape.ERROR))
    server.faults.set(Fault("status", status=503, retry_after_s=2))
    error = ask(client, "recall").json()["error"]
    assert error == {"message": "Service Unavailable", "retry_after": 2}


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'"x"', b'{"tenant_id": 1}'],
    ids=["none", "list", "half", "text", "int"],
)
def test_body_that_is_no_such_object_is_invalid(client: httpx.Client, body: bytes) -> None:
    response = client.post("/v1/memory/add_turn", content=body)
    assert response.status_code == 422
    assert response.json()["detail"][0]["msg"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("text", ""), ("speaker", 1), ("occurred_at", []), ("metadata", "x"), ("role", {})],
)
def test_field_of_a_wrong_type_is_named(client: httpx.Client, name: str, value: object) -> None:
    body = {"tenant_id": "default", "user_id": "ada", "text": "human: I drink sencha", name: value}
    response = client.post("/v1/memory/add_turn", json=body)
    assert response.status_code == 422
    assert [problem["loc"] for problem in response.json()["detail"]] == [["body", name]]


@pytest.mark.parametrize(("k", "status"), [(0, 422), (1, 200), (100, 200), (101, 422)])
def test_k_has_bounds(client: httpx.Client, k: int, status: int) -> None:
    body = {"tenant_id": "default", "user_id": "ada", "prompt": "sencha", "k": k}
    assert client.post("/v1/memory/recall", json=body).status_code == status


@pytest.mark.parametrize("limit", ["0", "-1", "x", "1001"])
def test_list_limit_has_bounds(client: httpx.Client, limit: str) -> None:
    path = "/v1/memory/default/ada/list"
    assert client.get(path, params={"limit": limit}).status_code == 422


def test_unknown_path_and_method_are_errors_in_shape(client: httpx.Client) -> None:
    assert client.get("/v2/nothing").json() == {"detail": "Not Found"}
    response = client.delete("/memory/add")
    assert (response.status_code, response.json()) == (405, {"detail": "Method Not Allowed"})


def test_body_of_more_than_four_mebibytes_is_refused(client: httpx.Client) -> None:
    assert add(client, "x" * (5 * 1024 * 1024)).status_code == 413
