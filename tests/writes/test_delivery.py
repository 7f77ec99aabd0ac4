"""Writes end to end against the development server: whatever fails, each is stored, each once."""

from collections.abc import Callable, Iterator

import pytest

from memotel import Adapter, MemoryClient, Outcome, Provider, Scope, Speaker, Turn, resolve, runtime
from memotel.config import WritePolicy
from memotel.devserver import DevServer, Fault, QuotaMode, Route, Service
from memotel.locks import REST_S, Callers

MakeClient = Callable[..., MemoryClient]
TURNS, SCOPES = 100, 20
ROUTES = {
    Provider.MEMORYSYNC: Route.MEMORYSYNC_ADD_TURN,
    Provider.REKALL: Route.REKALL_CREATE,
}


@pytest.fixture
def server() -> Iterator[DevServer]:
    with DevServer() as server:
        yield server


@pytest.fixture(params=list(Provider))
def provider(request: pytest.FixtureRequest) -> Provider:
    found: Provider = request.param
    return found


@pytest.fixture
def make_client(server: DevServer) -> Iterator[MakeClient]:
    made: list[MemoryClient] = []

    def make(provider: Provider, **policy: float) -> MemoryClient:
        policy = {"backoff_initial_s": 0.05, "quota_recheck_s": 0.2, **policy}
        settings = resolve(
            provider,
            Adapter.DIRECT,
            url=server.url,
            api_key="rk_key",
            writes=WritePolicy(**policy),  # type: ignore[arg-type] # fields of WritePolicy
        )
        made.append(MemoryClient(settings))
        return made[-1]

    yield make
    for client in made:
        client.close(1.0)


def say_all(client: MemoryClient, turns: int = TURNS) -> None:
    """Say each thing in one of twenty sessions."""
    for number in range(turns):
        scope = Scope("ada", f"session {number % SCOPES}")
        client.write(Turn(scope, Speaker.HUMAN, f"this is fact number {number}", source="test"))


def texts(server: DevServer) -> list[str]:
    return [item.text for item in server.items()]


def assert_stored_once(server: DevServer, client: MemoryClient, turns: int = TURNS) -> None:
    found = texts(server)
    assert len(found) == len(set(found)) == turns
    totals = client.stats().totals
    assert (totals.accepted, totals.delivered, totals.unaccounted) == (turns, turns, 0)


def test_a_delivery_lets_accepts_go_first_and_a_recall_does_not(
    make_client: MakeClient, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    callers = Callers(rests.append)
    monkeypatch.setattr(runtime.current(), "callers", callers)
    client = make_client(provider)
    with callers:
        recalled = client.recall(Scope("ada", "session 1"), "what does she like in her tea?")
        assert recalled.outcome is Outcome.EMPTY
        assert rests == []
        say_all(client, 1)
        client.flush(20)
    assert rests == [REST_S] * 3  # before the request, after the answer, and when it has ended
    say_all(client, 2)  # the first of them again: it is known
    client.flush(20)
    assert len(rests) == 3


FAULTS = {
    "500": Fault("status", "writes", status=500, first_attempt=True),
    "503": Fault("status", "writes", status=503, first_attempt=True),
    "reset before a byte": Fault("reset", "writes", first_attempt=True),
    "closed before a byte": Fault("reset", "writes", clean=True, first_attempt=True),
    "reset after it was stored": Fault("reset", "writes", stored=True, first_attempt=True),
    "500 after it was stored": Fault("status", "writes", stored=True, first_attempt=True),
    "reset amid the answer": Fault("reset_body", "writes", first_attempt=True),
    "garbled answer": Fault("malformed", "writes", first_attempt=True),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_hundred_turns_whose_first_attempt_fails_are_stored_once_each(
    server: DevServer, make_client: MakeClient, provider: Provider, fault: Fault
) -> None:
    server.faults.set(fault)
    client = make_client(provider)
    say_all(client)
    assert client.flush(60).pending == 0
    assert_stored_once(server, client)
    assert server.state().requests[ROUTES[provider]] == 2 * TURNS


def test_order_within_each_session_survives_failures(
    server: DevServer, make_client: MakeClient, provider: Provider
) -> None:
    server.faults.set(Fault("status", "writes", status=503, first_attempt=True))
    client = make_client(provider)
    say_all(client)
    assert client.flush(60).pending == 0
    by_session: dict[int, list[int]] = {}
    for text in texts(server):
        number = int(text.rsplit(" ", 1)[1])
        by_session.setdefault(number % SCOPES, []).append(number)
    assert len(by_session) == SCOPES
    assert all(numbers == sorted(numbers) for numbers in by_session.values())


@pytest.mark.parametrize("told_as", ["seconds", "date", "body"])
def test_retry_after_is_honoured(server: DevServer, make_client: MakeClient, told_as: str) -> None:
    fault = Fault("rate_limit", "writes", times=1, retry_after_s=2, retry_after_as=told_as)  # type: ignore[arg-type] # one of its three literals
    server.faults.set(fault)
    client = make_client(Provider.MEMORYSYNC)
    say_all(client, 3)
    assert client.flush(30).pending == 0
    seen = server.requests(Route.MEMORYSYNC_ADD_TURN)
    refused = next(request for request in seen if request.status == 429)
    later = [request for request in seen if request.at > refused.at + 0.2]
    assert min(request.at for request in later) >= refused.at + 0.9


def test_a_silent_quota_that_returns_costs_no_turn(
    server: DevServer, make_client: MakeClient
) -> None:
    server.set_quota(0)
    client = make_client(Provider.MEMORYSYNC)
    say_all(client, 200)
    waiting = client.flush(2)
    assert (waiting.delivered, waiting.failed, waiting.pending) == (0, 0, 200)
    assert texts(server) == []
    server.set_quota(None)
    assert server.wait_until(lambda: len(texts(server)) == 200, timeout_s=60)
    client.flush(10)
    assert_stored_once(server, client, 200)


def test_a_recall_that_finds_memories_sends_what_is_parked_at_once(
    server: DevServer, make_client: MakeClient
) -> None:
    client = make_client(Provider.MEMORYSYNC, quota_recheck_s=3_600)
    scope = Scope("ada", "session 0")
    client.write(Turn(scope, Speaker.HUMAN, "my cat is called Minka", source="test"))
    assert client.flush(30).pending == 0
    server.set_quota(0)
    say_all(client, 50)
    assert client.flush(30).pending == 50
    server.set_quota(None)
    assert client.recall(scope, "what is my cat called?").outcome is Outcome.HIT
    assert client.flush(30).pending == 0
    assert len(texts(server)) == 51


def test_a_strict_quota_that_returns_costs_no_turn(
    server: DevServer, make_client: MakeClient
) -> None:
    server.set_quota(0, QuotaMode.STRICT, Service.REKALL)
    client = make_client(Provider.REKALL)
    say_all(client, 50)
    assert client.flush(2).pending == 50
    server.set_quota(None, service=Service.REKALL)
    assert server.wait_until(lambda: len(texts(server)) == 50, timeout_s=60)
    client.flush(10)
    assert_stored_once(server, client, 50)


def test_writes_wait_for_credentials_that_are_restored(
    server: DevServer, make_client: MakeClient, provider: Provider
) -> None:
    server.revoke("rk_key")
    client = make_client(provider, credentials_recheck_s=0.3)
    say_all(client, 20)
    assert client.flush(1).pending == 20
    server.restore("rk_key")
    assert server.wait_until(lambda: len(texts(server)) == 20, timeout_s=60)
    client.flush(10)
    assert_stored_once(server, client, 20)


def test_a_genuine_repeat_is_kept_and_a_redelivery_is_not(
    server: DevServer, make_client: MakeClient, provider: Provider
) -> None:
    client = make_client(provider)
    human, ai = Speaker.HUMAN, Speaker.AI
    chat = [(human, "my plants need water"), (ai, "noted"), (human, "my plants need water")]
    for end in (1, 1, 3, 3):
        speaker, text = chat[end - 1]
        turn = Turn(Scope("ada", "s"), speaker, text, observer="a", source="test")
        client.write(turn, history=chat[:end])
    assert client.flush(30).pending == 0
    assert len(texts(server)) == 2


def test_ten_thousand_writes_wait_for_a_hanging_service_on_few_connections(
    server: DevServer, make_client: MakeClient, provider: Provider
) -> None:
    server.faults.set(Fault("hang", "writes"))
    client = make_client(provider, attempt_budget_s=60)
    for number in range(10_000):
        scope = Scope("ada", f"session {number % 500}")
        client.write(Turn(scope, Speaker.HUMAN, f"this is fact number {number}", source="test"))
    assert client.flush(0.5).pending == 10_000
    assert server.connections_open <= 8
    server.faults.clear()
