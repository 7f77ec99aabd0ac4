"""Rekall v2: quotas, limits, credentials and shapes, which only the development server can be told."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from devserver_http import local_client

from memotel.devserver import (
    REKALL_FREE,
    DevServer,
    Fault,
    Permission,
    QuotaMode,
    RateLimit,
    Service,
    Shapes,
)
from memotel.devserver.shapes import Envelope, ScoreField

KEY = {"Authorization": "Bearer rk_key"}


@pytest.fixture
def client(server: DevServer) -> Iterator[httpx.Client]:
    with local_client(server.url, KEY) as client:
        yield client


def create(client: httpx.Client, content: str, key: str, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"content": content, "metadata": {}}
    return client.post("/api/v2/memories", json=body, headers={"Idempotency-Key": key, **named})


def search(client: httpx.Client, query: str = "sencha", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"query": query, "limit": 5}
    return client.post("/api/v2/memories/search", json=body, headers=named)


@pytest.mark.parametrize("envelope", Envelope)
@pytest.mark.parametrize("score", ScoreField)
def test_search_takes_each_documented_shape(
    server: DevServer, client: httpx.Client, envelope: Envelope, score: ScoreField
) -> None:
    server.set_shapes(Shapes(envelope=envelope, score=score))
    created = create(client, "I drink sencha", "k").json()
    found = search(client).json()
    memories = found if envelope is Envelope.BARE else found[envelope]
    assert [memory[score] for memory in memories] == [1.0]
    assert ("id" in created) is (envelope is Envelope.BARE)


@pytest.mark.parametrize("credential", ["rk_key", "rat_token"])
def test_keys_and_tokens_are_accepted(server: DevServer, credential: str) -> None:
    headers = {"Authorization": f"Bearer {credential}"}
    with local_client(server.url, headers) as client:
        assert create(client, "I drink sencha", "k").status_code == 201


@pytest.mark.parametrize("value", ["Bearer key", "Basic rk_key", "rk_key", "Bearer"])
def test_other_authorizations_are_refused(server: DevServer, value: str) -> None:
    with local_client(server.url, {"Authorization": value}) as client:
        response = client.post("/api/v2/memories", json={})
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "UNAUTHORIZED"


def test_expired_token_is_a_401_of_its_own(server: DevServer) -> None:
    server.revoke("rat_token")
    headers = {"Authorization": "Bearer rat_token"}
    with local_client(server.url, headers) as client:
        response = search(client)
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "TOKEN_EXPIRED"


def test_user_header_works_without_a_key_and_keeps_users_apart(server: DevServer) -> None:
    with local_client(server.url, {}) as client:
        assert create(client, "I drink sencha", "k", x_user_id="ada").status_code == 201
        assert create(client, "I drink sencha", "k", x_user_id="ada").status_code == 409
        assert create(client, "I drink sencha", "k", x_user_id="bob").status_code == 201
        assert len(search(client, x_user_id="ada").json()["data"]) == 1
        assert search(client, x_user_id="eve").json()["data"] == []


def test_missing_scope_is_a_403(server: DevServer, client: httpx.Client) -> None:
    server.permit("rk_key", Permission.READ)
    response = create(client, "I drink sencha", "k")
    assert response.status_code == 403
    assert response.json()["error"]["code"] == "SCOPE_INSUFFICIENT"
    assert search(client).status_code == 200


def test_type_is_semantic_unless_named(client: httpx.Client) -> None:
    assert create(client, "I drink sencha", "k").json()["data"]["type"] == "semantic"


def test_used_up_quota_is_a_402_for_writes_alone(server: DevServer, client: httpx.Client) -> None:
    create(client, "I drink sencha", "k")
    server.set_quota(1, QuotaMode.STRICT, Service.REKALL)
    assert create(client, "I live in Oslo", "k2").status_code == 201
    response = create(client, "I own a dog", "k3")
    assert response.status_code == 402
    assert "QUOTA" in response.json()["error"]["code"]
    assert len(search(client).json()["data"]) == 1


def test_rekall_has_no_silent_quota(server: DevServer) -> None:
    with pytest.raises(ValueError, match="no quota of Rekall"):
        server.set_quota(0, QuotaMode.SILENT, Service.REKALL)


def test_rate_limit_is_told_in_headers(server: DevServer, client: httpx.Client) -> None:
    server.set_rate_limit(RateLimit(per_min=1), Service.REKALL)
    assert search(client).status_code == 200
    response = search(client)
    assert response.status_code == 429
    assert response.json()["error"]["code"] == "RATE_LIMIT_EXCEEDED"
    assert 1 <= int(response.headers["Retry-After"]) <= 60
    assert response.headers["X-RateLimit-Policy"] == "1;w=60"


def test_policy_header_is_limit_and_window(client: httpx.Client) -> None:
    assert re.fullmatch(r"\d+;w=\d+", search(client).headers["X-RateLimit-Policy"])


def test_free_plan_limits_searches_more_than_writes(
    server: DevServer, client: httpx.Client
) -> None:
    server.set_rate_limit(REKALL_FREE, Service.REKALL)
    assert [search(client).status_code for _ in range(51)] == [200] * 50 + [429]
    assert create(client, "I drink sencha", "k").status_code == 201


def test_too_many_requests_at_a_time_are_refused(server: DevServer) -> None:
    server.set_rate_limit(RateLimit(concurrent=2), Service.REKALL)
    server.faults.set(Fault("delay", delay_s=2.0))

    def ask() -> int:
        with local_client(server.url, KEY) as client:
            return search(client).status_code

    with ThreadPoolExecutor(3) as pool:
        statuses = [one.result() for one in [pool.submit(ask) for _ in range(3)]]
    assert sorted(statuses) == [200, 200, 429]
    server.faults.clear()
    assert ask() == 200


@pytest.mark.parametrize("limit", [0, 101, "5", True])
def test_limit_has_bounds(client: httpx.Client, limit: object) -> None:
    body = {"query": "sencha", "limit": limit}
    response = client.post("/api/v2/memories/search", json=body)
    assert response.status_code == 422
    assert "limit" in response.json()["error"]["details"]


def test_unknown_path_and_method_are_errors_in_shape(client: httpx.Client) -> None:
    assert client.get("/api/v2/nothing").json()["error"]["code"] == "NOT_FOUND"
    response = client.get("/api/v2/memories")
    assert response.json()["error"]["code"] == "METHOD_NOT_ALLOWED"
    assert response.json()["error"]["request_id"] == response.headers["X-Request-ID"]
