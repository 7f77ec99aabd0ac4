"""Callers of recall, many at once: each is counted as what it got, one probes for all, and a thousand share one client."""

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from clients import MakeClient, making_clients
from polling import eventually

from memotel import BreakerPolicy, MemoryClient, Outcome, Provider, Scope, runtime
from memotel.counts import Count, Gauge
from memotel.devserver import DevServer, Fault, Route
from memotel.outcomes import CircuitState

QUESTION = "What does Ada like to drink in the morning?"
ADA = Scope("ada", "s")
PATIENCE_S = 30.0
NEVER = 1_000_000_000
NO_BREAKER = BreakerPolicy(failure_share=1.0, min_calls=NEVER, consecutive_timeouts=NEVER)


@pytest.fixture
def server() -> Iterator[DevServer]:
    with DevServer() as server:
        yield server


@pytest.fixture
def make_client(server: DevServer) -> Iterator[MakeClient]:
    with making_clients(Provider.REKALL, server, recall_timeout=PATIENCE_S) as make:
        yield make


class Busy:
    """Two threads that compute, so that everybody else has to wait for the interpreter."""

    def __init__(self) -> None:
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._compute) for _ in range(2)]

    def _compute(self) -> None:
        while not self._is_over.is_set():
            sum(range(1_000))

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()


def counted(client: MemoryClient) -> Counter[Outcome]:
    """How many recalls ended in what, as the metrics have it."""
    counts = client.counts
    labels = client.provider, client.adapter
    found = {outcome: int(counts.total(Count.RECALLS, *labels, outcome)) for outcome in Outcome}
    return Counter({outcome: number for outcome, number in found.items() if number})


BUDGET_S = 0.05
CALLERS = 4
EACH = 25


def asked_by_threads(client: MemoryClient) -> Counter[Outcome]:
    """Recall from several threads; return what they got."""
    got: list[Outcome] = []

    def ask() -> None:
        for _ in range(EACH):
            got.append(client.recall(ADA, QUESTION).outcome)  # noqa: PERF401 # one by one, as they come

    in_threads(ask, CALLERS)
    return Counter(got)


def asked_on_a_loop(client: MemoryClient) -> Counter[Outcome]:
    """Recall from several tasks, which give up on each fifth recall about when its budget ends; return what they got."""
    got: list[Outcome] = []

    async def ask() -> None:
        for number in range(EACH):
            asking = asyncio.ensure_future(client.arecall(ADA, QUESTION))
            if number % 5 == 0:
                await asyncio.sleep(BUDGET_S * 0.9)
                asking.cancel()
            try:
                got.append((await asking).outcome)
            except asyncio.CancelledError:
                got.append(Outcome.CANCELLED)

    async def ask_all() -> None:
        await asyncio.gather(*(ask() for _ in range(CALLERS)))

    asyncio.run(ask_all())
    return Counter(got)


def in_threads(work: Callable[[], None], number: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("ask", [asked_by_threads, asked_on_a_loop])
def test_outcomes_are_counted_as_callers_got_them_beside_two_busy_threads(
    make_client: MakeClient,
    server: DevServer,
    ask: Callable[[MemoryClient], Counter[Outcome]],
) -> None:
    """Answers come about when budgets end, so that for each recall it is open which of the two is first.

    Whoever gives up a recall that has just ended is not told how: it is counted as it ended.
    """
    server.faults.set(Fault("delay", "recalls", delay_s=BUDGET_S * 0.8, sigma=0.5))
    client = make_client(recall_timeout=BUDGET_S, breaker=NO_BREAKER, account=ask.__name__)
    before = counted(client)

    with Busy():
        got = ask(client)

    found = counted(client) - before
    assert got.total() == found.total() == CALLERS * EACH
    ended_unseen = got.pop(Outcome.CANCELLED, 0) - found.pop(Outcome.CANCELLED, 0)
    assert (found - got).total() == ended_unseen >= 0
    assert got <= found
    account = runtime.current().accounts[client.account]
    eventually(lambda: account.permits.in_use == 0)
    assert (counted(client) - before).total() == CALLERS * EACH, "what ended later changed nothing"


def test_recall_that_is_given_up_before_it_begins_is_counted_too(
    make_client: MakeClient, server: DevServer
) -> None:
    server.faults.set(Fault("hang", "recalls"))
    client = make_client(account="given up")
    before = counted(client)

    async def main() -> None:
        asking = [asyncio.ensure_future(client.arecall(ADA, QUESTION)) for _ in range(3)]
        await asyncio.sleep(
            0
        )  # the first begins in this round, the others let the loop go round first
        for each in asking:
            each.cancel()
        await asyncio.wait(asking)

    asyncio.run(main())
    assert counted(client) - before == {Outcome.CANCELLED: 3}


def test_one_request_probes_for_all_threads_and_loops(
    make_client: MakeClient, server: DevServer
) -> None:
    client = make_client(breaker=BreakerPolicy(open_s=0.2, max_open_s=0.2))
    server.faults.set(Fault("status", "recalls", status=500))
    for _ in range(BreakerPolicy().min_calls):
        assert client.recall(ADA, QUESTION).outcome is Outcome.UNAVAILABLE
    assert client.recall(ADA, QUESTION).outcome is Outcome.CIRCUIT_OPEN
    server.faults.set(Fault("hang", "recalls"))
    before = len(server.requests(Route.REKALL_SEARCH))
    got: list[Outcome] = []

    async def ask_on_a_loop() -> None:
        found = await asyncio.gather(*(client.arecall(ADA, QUESTION) for _ in range(5)))
        got.extend(each.outcome for each in found)

    def ask() -> None:
        asyncio.run(ask_on_a_loop())
        got.extend(client.recall(ADA, QUESTION).outcome for _ in range(5))

    def probes() -> int:
        """Have four threads and their loops ask; return how many of their requests came through."""
        in_threads(ask, 4)
        return len(server.requests(Route.REKALL_SEARCH)) - before

    eventually(lambda: probes() > 0)
    for _ in range(3):
        assert probes() == 1
    assert set(got) == {Outcome.CIRCUIT_OPEN}, "nobody waits for the probe"
    snapshot = client.counts.snapshot()[Gauge.CIRCUIT_STATE]
    assert snapshot[client.provider, CircuitState.HALF_OPEN] == 1


def test_rejected_key_costs_one_request_and_one_line_that_names_the_setting(
    make_client: MakeClient, server: DevServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.revoke("rk_hush")
    client = make_client(api_key="rk_hush")

    with caplog.at_level("INFO", logger="memotel"):
        got = {client.recall(ADA, QUESTION).outcome for _ in range(20)}

    assert got == {Outcome.REJECTED}
    assert len(server.requests(Route.REKALL_SEARCH)) == 1
    lines = [each for each in caplog.records if each.__dict__["event"] == "credentials.rejected"]
    assert len(lines) == 1
    assert "api_key= or REKALL_API_KEY" in lines[0].getMessage()
    assert "rk_hush" not in caplog.text


def test_a_key_that_can_change_is_read_once_more_and_then_left_alone(
    make_client: MakeClient, server: DevServer
) -> None:
    reads: list[str] = []

    def key() -> str:
        reads.append("rk_old")
        return reads[-1]

    server.revoke("rk_old")
    client = make_client(api_key=key)

    got = {client.recall(ADA, QUESTION).outcome for _ in range(20)}

    assert got == {Outcome.REJECTED}
    assert len(reads) == 2
    assert len(server.requests(Route.REKALL_SEARCH)) == 1


def test_a_thousand_clients_of_one_account_share_what_is_large(make_client: MakeClient) -> None:
    clients = [make_client() for _ in range(1_000)]
    for client in clients:
        client.stats()

    accounts = {id(runtime.current().accounts[client.account]) for client in clients}
    holds = [client._attachment for client in clients]
    assert len(accounts) == 1
    for shared in ("account", "writes", "handler"):
        assert len({id(getattr(hold, shared)) for hold in holds}) == 1
    own = sum(sys.getsizeof(client) + sys.getsizeof(client.__dict__) for client in clients)
    assert own / len(clients) < 2_000
