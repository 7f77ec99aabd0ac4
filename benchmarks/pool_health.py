"""What is left of the connection pool after half a minute of time-outs: ten probes, and nothing left over.

Twenty callers with a budget of 50 ms, three in ten of whose requests are never answered; the breaker is off.
Run: python -m benchmarks.pool_health
"""

import asyncio
import gc
import threading
import time
from collections import Counter

from benchmarks.chats import NO_BREAKER, QUESTION, memory_at
from benchmarks.harness import Figure, options, report
from benchmarks.raw_backend import Behaviour, RawBackend, raw_backend
from memotel import runtime
from memotel.client import MemoryClient
from memotel.outcomes import Outcome
from memotel.values import Scope

CALLERS = 20
BUDGET_S = 0.05
PROBES = 10
SCOPE = Scope("ada", "s")


def storm(client: MemoryClient, seconds: float) -> Counter[Outcome]:
    """Have all callers recall for so long; return their outcomes."""
    outcomes: Counter[Outcome] = Counter()
    ends_at = time.monotonic() + seconds

    def call() -> None:
        mine: Counter[Outcome] = Counter()
        while time.monotonic() < ends_at:
            mine[client.recall(SCOPE, QUESTION).outcome] += 1
        outcomes.update(mine)

    callers = [threading.Thread(target=call) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return outcomes


def wait_until_less(read: object, limit_s: float = 5.0) -> int:
    """Return what `read` counts once it is zero, or after `limit_s` seconds."""
    assert callable(read)
    ends_at = time.monotonic() + limit_s
    while (count := int(read())) and time.monotonic() < ends_at:
        time.sleep(0.01)
    return count


def tasks() -> int:
    """Return how many tasks the background loop runs."""
    gc.collect()
    return len(asyncio.all_tasks(runtime.current().loop.start()))


def measure(backend: RawBackend, seconds: float) -> tuple[list[Figure], str]:
    """Make the storm, then the probes; count what is left before and after closing."""
    memory = memory_at(backend.url, recall_timeout=BUDGET_S, breaker=NO_BREAKER)
    assert memory.warm()
    backend.behave(Behaviour(delay_s=0.005, hang_share=0.3))
    outcomes = storm(memory.client, seconds)
    backend.behave(Behaviour(delay_s=0.005))
    patient = memory_at(backend.url, breaker=NO_BREAKER)
    good = sum(patient.client.recall(SCOPE, QUESTION).outcome == "hit" for _ in range(PROBES))
    account = next(iter(runtime.current().accounts.values()))
    permits_left = wait_until_less(lambda: account.permits.in_use)
    tasks_left = wait_until_less(tasks)
    memory.client.close()
    patient.client.close()
    sockets_left = wait_until_less(backend.connections)
    figures = [
        Figure("probes answered with memories", good, f"of {PROBES}", PROBES, is_least=True),
        Figure("permits left over", permits_left, "", 0),
        Figure("tasks left over", tasks_left, "", 0),
        Figure("sockets left over after close", sockets_left, "", 0),
    ]
    return figures, ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())


def main() -> None:
    """Measure and print."""
    asked = options(__doc__)
    seconds = asked.of(30, 4)
    with raw_backend() as backend:
        figures, outcomes = measure(backend, seconds)
    remark = f"{CALLERS} callers, {seconds} s, budget {BUDGET_S * 1e3:.0f} ms: {outcomes}"
    report("The pool after a storm of time-outs", figures, asked, [remark])


if __name__ == "__main__":
    main()
