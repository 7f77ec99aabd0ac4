"""The server's own routes: faults over HTTP, counts, items; for this machine only."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest
from devserver_http import client_of, create, recall, remember, search
from starlette.applications import Starlette
from starlette.types import Scope

from memotel.devserver import DevServer, Fate, Fault, Route
from memotel.devserver.control import control_routes
from memotel.devserver.exchange import ask
from memotel.devserver.keys import Keyring
from memotel.devserver.store import Store
from memotel.devserver.world import World


@pytest.fixture
def client(memory_server: DevServer) -> Iterator[httpx.Client]:
    with client_of(memory_server) as client:
        yield client


def test_faults_are_set_shown_and_cleared_over_http(client: httpx.Client) -> None:
    fault = {"kind": "status", "on": "recalls", "status": 503}
    assert client.post("/_faults", json=fault).json() == [fault]
    assert client.post("/_faults", json=[{"kind": "drip"}]).json() == [fault, {"kind": "drip"}]
    assert recall(client, "tea").status_code == 503
    assert client.get("/_faults").json() == [fault, {"kind": "drip"}]
    assert client.delete("/_faults").json() == []
    assert recall(client, "tea").status_code == 200


@pytest.mark.parametrize("body", [b"", b"1", b"[1]", b'{"kind": "flood"}', b'{"on": "*"}'])
def test_wrong_fault_over_http_is_refused(client: httpx.Client, body: bytes) -> None:
    response = client.post("/_faults", content=body)
    assert response.status_code == 422
    assert isinstance(response.json()["detail"], str)
    assert client.get("/_faults").json() == []


def test_refuse_over_http_begins_and_ends(memory_server: DevServer, client: httpx.Client) -> None:
    assert client.post("/_faults", json={"kind": "refuse"}).json() == [{"kind": "refuse"}]
    with pytest.raises(httpx.TransportError):
        recall(client, "tea")
    memory_server.faults.clear()
    assert recall(client, "tea").status_code == 200


def test_faults_do_not_strike_the_control_routes(
    memory_server: DevServer, client: httpx.Client
) -> None:
    memory_server.faults.set(Fault("hang"))
    assert client.get("/_state").status_code == 200
    assert client.get("/_health").json() == {"status": "ok"}


def test_state_counts_writes_users_and_requests(
    memory_server: DevServer, client: httpx.Client
) -> None:
    remember(client, "I drink sencha")
    remember(client, "I drink sencha")
    remember(client, "ok")
    remember(client, "I live in Oslo", user="bob")
    create(client, "I own a dog", "k")
    search(client, "dog")
    state = memory_server.state()
    counts = [(u.scope.user, u.stored, u.ignored, u.deliveries) for u in state.users]
    assert counts == [("ada", 1, 1, 3), ("bob", 1, 0, 1), ("", 1, 0, 1)]
    assert state.stored == 3
    assert state.requests[Route.MEMORYSYNC_ADD_TURN] == 4
    shown = client.get("/_state").json()
    assert shown["requests"]["rekall.search"] == 1
    assert [user["stored"] for user in shown["users"]] == [1, 1, 1]


def test_items_are_listed_by_user_and_fate(memory_server: DevServer, client: httpx.Client) -> None:
    remember(client, "I drink sencha")
    remember(client, "ok")
    remember(client, "I live in Oslo", user="bob")
    assert [item.text for item in memory_server.items("ada")] == ["human: I drink sencha"]
    assert len(memory_server.items()) == 2
    assert [item.text for item in memory_server.items(fate=Fate.IGNORED)] == ["human: ok"]
    assert len(memory_server.items(fate=None)) == 3
    shown = client.get("/_items", params={"user": "bob"}).json()
    assert [item["text"] for item in shown] == ["human: I live in Oslo"]


def test_requests_are_kept_with_what_was_sent_and_answered(
    memory_server: DevServer, client: httpx.Client
) -> None:
    answer = create(client, "I own a dog", "key-1")
    recall(client, "tea")
    (seen,) = memory_server.requests(Route.REKALL_CREATE)
    assert (seen.method, seen.path, seen.status) == ("POST", "/api/v2/memories", 201)
    assert seen.headers["idempotency-key"] == "key-1"
    assert seen.request_id == answer.headers["X-Request-ID"]
    assert b"I own a dog" in seen.body
    assert len(memory_server.requests()) == 2


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1", 200), ("::1", 200), ("192.0.2.1", 403), ("fe80::1%eth0", 403)],
)
@pytest.mark.parametrize("path", ["/_faults", "/_state", "/_items"])
def test_control_routes_are_for_this_machine_only(path: str, host: str, status: int) -> None:
    store = Store()
    app = Starlette(routes=control_routes(World(store, Keyring()), lambda: None))
    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": b"",
        "headers": [],
        "client": (host, 1),
    }
    assert asyncio.run(ask(app, scope, b"")).status == status
    store.close()
