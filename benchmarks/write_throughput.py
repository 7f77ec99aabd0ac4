"""How fast the drain delivers to a service that answers at once, what a send costs, and whether a backlog slows it down.

The backlog builds up while the service asks for a pause (429), then all of it is sent. Counted and timed at the service.
Run: python -m benchmarks.write_throughput
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmarks.harness import Figure, Options, Worker, report
from benchmarks.raw_backend import MARK_EVERY, Behaviour, RawBackend, Tally, raw_backend
from benchmarks.writing import MEMORY, client_at, options, outbox_at, turns_of

SCOPES = 50
LEAST_PER_S = 1_000.0
MOST_CPU_US = 1_000.0
FLAT = 1.2
SHARE = 0.1
PATIENCE_S = 600.0
ACCEPTS_PER_S = {MEMORY: 8_000, "sqlite": 1_500}
"""A cautious guess, for how long the service has to ask for."""


@dataclass(frozen=True, slots=True)
class Drained:
    """What draining a backlog took: seconds of the processor, accepting and delivering apart."""

    accept_s: float
    deliver_s: float


def draining(url: str, outbox: str, count: int) -> Callable[[str], Drained | None]:
    """Return what builds a backlog up and then drains it. Runs in a worker."""
    settings: dict[str, Any] = {"outbox_max_writes": count + 1_000, "outbox_max_bytes": 2**31}
    memory = client_at(url, outbox, exit_drain_timeout=0.0, **settings)
    turns = turns_of(count, SCOPES)

    def do(what: str) -> Drained | None:
        if what == "begin":  # it is told to pause
            memory.write(turns[0])
            return None
        cpu, own = time.process_time(), time.thread_time()
        for turn in turns[1:]:
            memory.write(turn)
        accept_s = time.thread_time() - own
        left = memory.flush(PATIENCE_S)
        if left.pending or left.failed:
            raise RuntimeError(f"not all was delivered: {left}")
        return Drained(accept_s, time.process_time() - cpu - accept_s)

    return do


def per_write_s(marks: list[float]) -> tuple[float, float]:
    """Return the seconds that a write took at the beginning and at the end of a backlog."""
    steps = [(later - earlier) / MARK_EVERY for earlier, later in pairwise(marks[1:])]
    many = max(1, int(len(steps) * SHARE))
    return statistics.mean(steps[:many]), statistics.mean(steps[-many:])


def drain(backend: RawBackend, outbox: str, count: int) -> tuple[Tally, Drained]:
    """Drain a backlog of so many writes; return what the service saw, and what it cost."""
    pause_s = 3 + count // ACCEPTS_PER_S[outbox]
    backend.forget()
    backend.behave(Behaviour(retry_after_s=pause_s))
    with outbox_at(outbox) as place, Worker(__name__, "draining", backend.url, place, count) as one:
        one.round("begin")
        time.sleep(0.5)
        backend.behave(Behaviour())
        drained: Drained = one.round("all", PATIENCE_S + pause_s)
    return backend.tally(), drained


def measured(backend: RawBackend, asked: Options, outbox: str) -> list[Figure]:
    """Measure a backlog of the usual capacity, and a large one."""
    found = []
    small, large = asked.of(10_000, 4_000), asked.of(100_000, 20_000)
    tally, cost = drain(backend, outbox, small)
    seconds = tally.marks[-1] - tally.marks[0]
    name = f"{outbox}, {small:,} writes"
    rate = (tally.bodies - 1) / seconds
    cpu_us = cost.deliver_s / small * 1e6
    found += [
        Figure(f"{name}: stored", tally.bodies, "", small, is_least=True, note="different ones"),
        Figure(f"{name}: delivered", rate, "a second", LEAST_PER_S, is_least=True),
        Figure(f"{name}: processor a send", cpu_us, "us", MOST_CPU_US),
        Figure(f"{name}: processor an accept", cost.accept_s / small * 1e6, "us"),
    ]
    tally, cost = drain(backend, outbox, large)
    first_s, last_s = per_write_s(tally.marks)
    name = f"{outbox}, {large:,} writes"
    note = f"{first_s * 1e6:.0f} us a write at first, {last_s * 1e6:.0f} us at last"
    found += [
        Figure(f"{name}: stored", tally.bodies, "", large, is_least=True, note="different ones"),
        Figure(f"{name}: last 10 % against first", last_s / first_s, "", FLAT, note=note),
    ]
    return found


def main() -> None:
    """Measure and print."""
    asked, outboxes = options(__doc__)
    with raw_backend() as backend:
        found = [figure for outbox in outboxes for figure in measured(backend, asked, outbox)]
    remark = f"{SCOPES} sessions. A send's processor time is the whole process's, but for the accepting thread."
    report("Delivering writes", found, asked, [remark])


if __name__ == "__main__":
    main()
