"""What recalls and writes of one account owe each other: writes give way, and what happens to them harms no recall."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from clients import MakeClient, making_clients
from polling import eventually

from memotel import (
    BreakerPolicy,
    MemoryClient,
    Outcome,
    PermitPolicy,
    Provider,
    Scope,
    Speaker,
    Turn,
    WritePolicy,
    runtime,
)
from memotel.counts import Count
from memotel.devserver import DevServer, Fault, RateLimit, Route

QUESTION = "What does Ada like to drink in the morning?"
ADA = Scope("ada", "recalls")
FOREVER_S = 3_600.0
PATIENCE_S = 30.0
RECALLS = (Route.MEMORYSYNC_RECALL, Route.REKALL_SEARCH)
WRITES = (Route.MEMORYSYNC_ADD_TURN, Route.REKALL_CREATE)


@pytest.fixture
def server() -> Iterator[DevServer]:
    with DevServer() as server:
        yield server


@pytest.fixture(params=list(Provider))
def make_client(request: pytest.FixtureRequest, server: DevServer) -> Iterator[MakeClient]:
    """Return what makes a client whose tenant, where the service has one, is known already."""
    writes = WritePolicy(backoff_initial_s=0.05)
    with making_clients(request.param, server, recall_timeout=PATIENCE_S, writes=writes) as make:

        def warm(**given: Any) -> MemoryClient:
            client = make(**given)
            assert client.warm(PATIENCE_S)
            return client

        yield warm


def say(client: MemoryClient, *numbers: int) -> None:
    """Write a turn for each number, each in a session of its own."""
    for number in numbers:
        turn = Turn(Scope("ada", f"s{number}"), Speaker.HUMAN, f"I keep {number} hives of bees")
        client.write(turn)


def recalled(client: MemoryClient) -> Outcome:
    return client.recall(ADA, QUESTION).outcome


def open_circuit(client: MemoryClient, server: DevServer) -> None:
    """Have the service fail recalls until the circuit is open."""
    server.faults.set(Fault("status", "recalls", status=500))
    for _ in range(BreakerPolicy().min_calls):
        assert recalled(client) is Outcome.UNAVAILABLE
    assert recalled(client) is Outcome.CIRCUIT_OPEN


def test_open_circuit_pauses_the_drain(make_client: MakeClient, server: DevServer) -> None:
    client = make_client(breaker=BreakerPolicy(open_s=FOREVER_S, max_open_s=FOREVER_S))
    open_circuit(client, server)
    say(client, *range(5))

    assert client.flush(0.5).pending == 5
    assert server.requests(*WRITES) == ()


def test_closed_circuit_lets_the_drain_go_on(make_client: MakeClient, server: DevServer) -> None:
    client = make_client(breaker=BreakerPolicy(open_s=0.2, max_open_s=0.2))
    open_circuit(client, server)
    say(client, *range(5))
    server.faults.clear()

    eventually(lambda: recalled(client) is Outcome.EMPTY)
    assert client.flush(PATIENCE_S).pending == 0
    assert len(server.items()) == 5


@pytest.mark.parametrize("fault", [Fault("status", "writes"), Fault("hang", "writes")], ids=str)
def test_failing_writes_never_open_the_circuit(
    make_client: MakeClient, server: DevServer, fault: Fault
) -> None:
    policy = WritePolicy(attempt_budget_s=0.1, backoff_initial_s=0.001, backoff_max_s=0.01)
    breaker = BreakerPolicy(min_timeout_budget_s=0.01)
    client = make_client(writes=policy, breaker=breaker)
    before = client.counts.total(Count.CIRCUIT_TRANSITIONS, client.provider)
    server.faults.set(fault)
    say(client, *range(8))

    assert server.wait_until(lambda: len(server.requests(*WRITES)) >= 40, PATIENCE_S)
    assert recalled(client) is Outcome.EMPTY
    assert client.counts.total(Count.CIRCUIT_TRANSITIONS, client.provider) == before


@pytest.mark.parametrize("asking_key", ["rk_1", "rk_another_account"])
def test_write_waits_for_a_recall_of_the_process_that_is_in_flight(
    make_client: MakeClient, server: DevServer, asking_key: str
) -> None:
    client = make_client(writes=WritePolicy(recall_yield_s=FOREVER_S))
    server.faults.set(Fault("hang", "recalls"))
    asking = threading.Thread(target=recalled, args=(make_client(api_key=asking_key),))
    asking.start()
    assert server.wait_until(lambda: len(server.requests(*RECALLS)) == 1)
    say(client, 1)

    assert client.flush(0.5).pending == 1
    assert server.requests(*WRITES) == ()
    server.stop()
    asking.join(PATIENCE_S)


def test_recalls_need_nothing_that_hanging_writes_hold(
    make_client: MakeClient, server: DevServer
) -> None:
    """One recall at a time is allowed here, and each write that hangs would hold that one place."""
    client = make_client(permits=PermitPolicy(recalls=1))
    server.faults.set(Fault("hang", "writes"))
    say(client, *range(30))
    most = WritePolicy().initial_in_flight
    assert server.wait_until(lambda: len(server.requests(*WRITES)) == most)

    assert [recalled(client) for _ in range(5)] == [Outcome.EMPTY] * 5
    assert len(server.requests(*WRITES)) == most


def test_write_that_is_told_to_slow_down_pauses_writes_only(
    make_client: MakeClient, server: DevServer
) -> None:
    client = make_client()
    server.faults.set(Fault("rate_limit", "writes", times=1, retry_after_s=600.0))
    say(client, 1)
    assert server.wait_until(lambda: len(server.requests(*WRITES)) == 1)
    assert client.flush(PATIENCE_S).pending == 1
    say(client, 2)

    assert client.flush(PATIENCE_S).pending == 2
    assert len(server.requests(*WRITES)) == 1
    assert recalled(client) is Outcome.EMPTY


@pytest.mark.parametrize("told_as", ["seconds", "date", "body"])
def test_recall_that_is_told_to_slow_down_pauses_recalls_for_as_long(
    make_client: MakeClient, server: DevServer, told_as: Any
) -> None:
    client = make_client()
    server.faults.set(
        Fault("rate_limit", "recalls", times=1, retry_after_s=600.0, retry_after_as=told_as)
    )

    assert [recalled(client) for _ in range(4)] == [Outcome.RATE_LIMITED] * 4
    assert len(server.requests(*RECALLS)) == 1
    account = runtime.current().accounts[client.account]
    assert account.recall_rate.until > 0
    say(client, 1)
    assert client.flush(PATIENCE_S).pending == 0


def test_writes_leave_recalls_half_of_a_rate_limit(
    make_client: MakeClient, server: DevServer
) -> None:
    """Forty writes wait, twenty requests an hour are allowed: ten of them are for recalls."""
    server.set_rate_limit(RateLimit(per_hour=20))
    client = make_client()
    assert recalled(client) is Outcome.EMPTY  # whose answer tells of the limit
    say(client, *range(40))
    report = client.flush(2.0)
    sent = len(server.requests(*WRITES))

    assert report.pending >= 30
    assert 1 <= sent <= 10
    left = 20 - len(server.requests())
    assert left >= 9
    assert [recalled(client) for _ in range(left)] == [Outcome.EMPTY] * left
    assert 429 not in {request.status for request in server.requests()}
