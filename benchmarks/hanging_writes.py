"""What ten thousand writes that hang at the service cost the agent: its recalls, its memory, its sockets.

Two processes recall in turns from one service, which answers recalls and never a write; one of them has the writes.
Run: python -m benchmarks.hanging_writes
"""

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.chats import QUESTION
from benchmarks.harness import Figure, Options, Round, Worker, interleaved, ratio, report, timed
from benchmarks.raw_backend import Behaviour, RawBackend, raw_backend
from benchmarks.writing import client_at, options, outbox_at, turns_of
from memotel.client import MemoryClient
from memotel.outcomes import Outcome
from memotel.values import Scope

WRITES = 10_000
SCOPES = 50
LIMIT_RATIO = 1.1
LIMIT_MIB = 40.0
WRITE_SOCKETS = 8
RECALL_SOCKETS = 1
"""The recalls are made one after another: one permit is in use."""

SETTLE_S = 12.0
"""Two attempts of each write in flight: by then all sockets that will be open are."""

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_mib() -> float:
    """Return how much memory this process holds."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * _PAGE / 2**20


def recalling(url: str, outbox: str, count: int) -> Callable[[object], list[float]]:
    """Return what recalls so many times, or on a word hands the writes over. Runs in a worker."""
    memory = client_at(url, outbox, recall_timeout=5.0, exit_drain_timeout=0.0)
    recalls = recall_rounds(memory)
    recalls(200)

    def do(task: object) -> list[float]:
        if isinstance(task, int):
            return recalls(task)
        if task == "pending":
            return [float(memory.stats().totals.pending)]
        before = resident_mib()
        for turn in turns_of(count, SCOPES):
            memory.write(turn)
        time.sleep(SETTLE_S)
        return [resident_mib() - before]

    return do


def recall_rounds(memory: MemoryClient) -> Round:
    """Return rounds of recalls, each of which must find something."""

    def recall() -> None:
        found = memory.recall(Scope("ada", "recalls"), QUESTION)
        if found.outcome is not Outcome.HIT:
            raise RuntimeError(f"a recall ended in {found.outcome}")

    return timed(recall)


def measured(backend: RawBackend, asked: Options, outbox: str) -> list[Figure]:
    """Measure with one kind of outbox."""
    backend.behave(Behaviour(are_writes_hung=True))
    before = backend.connections()
    with (
        outbox_at(outbox) as place,
        outbox_at(outbox) as spare,
        Worker(__name__, "recalling", backend.url, place, WRITES) as busy,
        Worker(__name__, "recalling", backend.url, spare, 0) as idle,
    ):
        (added_mib,) = busy.round("write")
        idle_sockets = 1  # the other process's
        sockets = backend.connections() - before - idle_sockets
        workers = {"busy": busy, "idle": idle}
        found = interleaved(workers, rounds=asked.of(20, 4), calls=asked.of(400, 100))
        sockets = max(sockets, backend.connections() - before - idle_sockets)
        (pending,) = busy.round("pending")
    stored = backend.tally().writes
    slower = ratio(found["busy"], found["idle"])
    p50s = [sorted(medians)[len(medians) // 2] * 1e6 for medians in found.values()]
    note = f"p50 {p50s[0]:.0f} us with, {p50s[1]:.0f} us without"
    most_sockets = WRITE_SOCKETS + RECALL_SOCKETS
    return [
        Figure(f"{outbox}: recall, with / without", slower, "", LIMIT_RATIO, note=note),
        Figure(f"{outbox}: memory added", added_mib, "MiB", LIMIT_MIB),
        Figure(f"{outbox}: sockets at the service", sockets, "", most_sockets),
        Figure(f"{outbox}: writes that wait", pending, "", WRITES, is_least=True),
        Figure(f"{outbox}: writes answered", stored, "", 0),
    ]


def main() -> None:
    """Measure and print."""
    asked, outboxes = options(__doc__)
    with raw_backend() as backend:
        found = [figure for outbox in outboxes for figure in measured(backend, asked, outbox)]
    report(f"{WRITES:,} writes that hang", found, asked)


if __name__ == "__main__":
    main()
