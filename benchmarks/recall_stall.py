"""How long a recall stalls beyond its budget, in ten kinds of fault, over http and https, from threads and from loops.

The breaker is off. Idle: nothing else runs in the process. Busy: two threads compute meanwhile, which is reported and
has no limit, since Python's lock decides it. Run: python -m benchmarks.recall_stall
"""

import asyncio
import multiprocessing
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from benchmarks.harness import Figure, Worker, options, report, spread

QUESTION = "What does Ada like to drink in the morning?"
FAULTS = (
    "delay",
    "drip",
    "hang",
    "silent",
    "refuse",
    "reset",
    "reset_body",
    "status",
    "malformed",
    "huge",
)
SHORT_S, LONG_S = 0.05, 1.2
AT_ONCE = 5
"""Idle runs wait most of their time, so a few processes share the machine; busy runs have it to themselves."""


@dataclass(frozen=True, slots=True)
class Case:
    """Who suffers a fault, for how many turns of what budget."""

    is_async: bool
    is_busy: bool
    budget_s: float
    turns: int


@contextmanager
def service(fault: str, *, is_tls: bool) -> Iterator[tuple[str, str | None, Callable[[], None]]]:
    """Run the development server in a process of its own; yield its URL, its CA file, and what begins the fault."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, fault, is_tls))
    process.start()
    theirs.close()

    def begin() -> None:
        ours.send("begin")
        ours.recv()

    try:
        yield *ours.recv(), begin
    finally:
        ours.close()
        process.join(10)
        if process.is_alive():
            process.kill()


def _serve(pipe: Connection, fault: str, is_tls: bool) -> None:
    from memotel.devserver import DevServer, Fault

    with DevServer(tls=is_tls) as server:
        # The tenant is looked up before the fault begins, so that each recall meets the fault itself.
        pipe.send((server.url, str(server.ca_file) if server.ca_file else None))
        try:
            pipe.recv()
            server.faults.set(Fault(fault, delay_s=5.0))
            pipe.send(None)
            pipe.recv()
        except EOFError:
            return


def stalls(url: str, ca_file: str | None) -> Callable[[Case | None], list[float]]:
    """Return what runs a case and returns the seconds that each recall took beyond its budget."""
    from memotel.client import MemoryClient
    from memotel.config import BreakerPolicy, RecallPolicy
    from memotel.outcomes import Adapter, Provider
    from memotel.settings import resolve
    from memotel.values import Scope

    never = 1_000_000_000
    breaker = BreakerPolicy(failure_share=1.0, min_calls=never, consecutive_timeouts=never)
    clients = {
        budget_s: MemoryClient(
            resolve(
                Provider.MEMORYSYNC,
                Adapter.DIRECT,
                url=url,
                api_key="ms_key",
                recall=RecallPolicy(budget_s=budget_s),
                breaker=breaker,
                verify=ca_file,
            )
        )
        for budget_s in (SHORT_S, LONG_S)
    }
    assert all(client.warm(10.0) for client in clients.values())
    scope = Scope("ada", "s")

    def in_thread(case: Case) -> list[float]:
        client, found = clients[case.budget_s], []
        for _ in range(case.turns):
            started = time.perf_counter()
            client.recall(scope, QUESTION)
            found.append(time.perf_counter() - started - case.budget_s)
        return found

    async def on_loop(case: Case) -> list[float]:
        client, found = clients[case.budget_s], []
        for _ in range(case.turns):
            started = time.perf_counter()
            await client.arecall(scope, QUESTION)
            found.append(time.perf_counter() - started - case.budget_s)
        return found

    def run(case: Case | None) -> list[float]:
        if case is None:
            return []
        with busy_threads(2 if case.is_busy else 0):
            return asyncio.run(on_loop(case)) if case.is_async else in_thread(case)

    return run


@contextmanager
def busy_threads(count: int) -> Iterator[None]:
    """Have so many threads compute while the block runs."""
    is_over = threading.Event()

    def compute() -> None:
        while not is_over.is_set():
            sum(range(10_000))

    threads = [threading.Thread(target=compute, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def measure(fault: str, is_tls: bool, cases: list[Case]) -> dict[Case, list[float]]:
    """Return the seconds beyond the budget of every turn of these cases."""
    with (
        service(fault, is_tls=is_tls) as (url, ca_file, begin),
        Worker("benchmarks.recall_stall", "stalls", url, ca_file) as worker,
    ):
        worker.round(None)
        begin()
        return {case: worker.round(case) for case in cases}


Found = dict[str, list[tuple[Case, list[float]]]]


def main() -> None:
    """Measure and print."""
    asked = options(__doc__)
    faults = ("hang", "reset") if asked.quick else FAULTS
    places = [(fault, is_tls) for fault in faults for is_tls in (False, True)]
    budgets = {SHORT_S: asked.of(300, 20), LONG_S: asked.of(30, 2)}
    idle_cases = [
        Case(is_async, False, budget_s, turns)
        for is_async in (False, True)
        for budget_s, turns in budgets.items()
    ]
    busy_cases = [Case(is_async, True, SHORT_S, asked.of(50, 10)) for is_async in (False, True)]
    idle: Found = {fault: [] for fault in faults}
    busy: Found = {fault: [] for fault in faults}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = pool.map(lambda place: measure(*place, idle_cases), places)
        for (fault, _), found in zip(places, results, strict=True):
            idle[fault] += found.items()
    for place in places:
        busy[place[0]] += measure(*place, busy_cases).items()
    report("How long a recall stalls beyond its budget", list(_figures(idle, busy)), asked)


def _figures(idle: Found, busy: Found) -> Iterator[Figure]:
    for fault in idle:
        yield _p99(f"idle, {fault}", _turns({fault: idle[fault]}))
    for is_async in (False, True):
        yield _p99(f"idle, {'on a loop' if is_async else 'in a thread'}", _turns(idle, is_async))
    whole = _turns(idle)
    yield Figure("idle: p99", spread(whole, 0.99) * 1e3, "ms", 10.0, note=f"{len(whole)} turns")
    yield Figure("idle: largest", max(whole) * 1e3, "ms", 50.0)
    late = _turns(busy)
    yield Figure("busy: p50", statistics.median(late) * 1e3, "ms")
    yield Figure("busy: p99", spread(late, 0.99) * 1e3, "ms", note=f"{len(late)} turns")
    yield Figure("busy: largest", max(late) * 1e3, "ms")


def _turns(found: Found, is_async: bool | None = None) -> list[float]:
    return [
        value
        for results in found.values()
        for case, values in results
        if is_async in (None, case.is_async)
        for value in values
    ]


def _p99(name: str, values: list[float]) -> Figure:
    return Figure(f"{name}: p99", spread(values, 0.99) * 1e3, "ms", note=f"{len(values)} turns")


if __name__ == "__main__":
    main()
