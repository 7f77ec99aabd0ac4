"""How long a hook waits for a write to be accepted, while the drain delivers to a service that answers at once.

One thread back to back, one thread at an agent's pace, eight threads; each outbox. Run: python -m benchmarks.accept_latency
"""

import threading
import time
from collections.abc import Callable
from functools import partial

from benchmarks.harness import Figure, Options, Worker, report, spread
from benchmarks.pace import pace_note, paced
from benchmarks.raw_backend import RawBackend, raw_backend
from benchmarks.writing import MEMORY, SQLITE, client_at, options, outbox_at, turns_of
from memotel.values import Turn

PACE_S = 0.005
THREADS = 8
SCOPES = 50
WARM_UP = 200

LIMITS_US = {
    MEMORY: {"back to back": 60.0, "at 5 ms": 300.0, "8 threads": 500.0},
    SQLITE: {"back to back": 400.0, "at 5 ms": 1_000.0, "8 threads": 15_000.0},
}


def accepting(url: str, outbox: str) -> Callable[[tuple[str, int]], list[float]]:
    """Return what measures one way of writing: the seconds of each accept. Runs in a worker."""
    memory = client_at(url, outbox, outbox_max_writes=1_000_000, outbox_max_bytes=2**31)

    def accept(turn: Turn, pause_s: float = 0.0) -> float:
        began = time.perf_counter()
        memory.write(turn)
        took_s = time.perf_counter() - began
        if pause_s:
            time.sleep(pause_s)
        return took_s

    def measure(task: tuple[str, int]) -> list[float]:
        way, count = task
        turns = turns_of(count, SCOPES, f"{way} {time.monotonic_ns()}")
        if way == "8 threads":
            found = _spread(accept, turns)
        else:
            pause_s = PACE_S if way == "at 5 ms" else 0.0
            found = [accept(turn, pause_s) for turn in turns]
        left = memory.flush(300.0)
        if left.pending or left.failed:
            raise RuntimeError(f"not all was delivered: {left}")
        return found

    measure(("back to back", WARM_UP))
    return measure


def _spread(accept: Callable[[Turn], float], turns: list[Turn]) -> list[float]:
    """Have eight threads accept the turns, each its share, all at once."""
    found: list[float] = []
    start = threading.Barrier(THREADS)

    def work(mine: list[Turn]) -> None:
        start.wait()
        found.extend([accept(turn) for turn in mine])

    threads = [threading.Thread(target=work, args=(turns[n::THREADS],)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def measured(backend: RawBackend, asked: Options, outbox: str) -> list[Figure]:
    """Measure every way of writing to one kind of outbox."""
    found = []
    before = backend.tally().bodies
    counts = {
        "back to back": asked.of(8_000, 2_000),
        "at 5 ms": asked.of(4_000, 600),
        "8 threads": asked.of(8_000, 2_000),
    }
    with outbox_at(outbox) as place, Worker(__name__, "accepting", backend.url, place) as worker:
        for way, count in counts.items():
            each, pace = paced(partial(worker.round, (way, count)))
            limit = LIMITS_US[outbox][way]
            note = f"p50 {spread(each, 0.5) * 1e6:.0f} us, max {max(each) * 1e3:.1f} ms; "
            note += pace_note(limit, "us", pace)
            p99 = spread(each, 0.99) * 1e6
            found.append(Figure(f"{outbox}, {way}: p99", p99, "us", limit * pace, note=note))
    written = sum(counts.values()) + WARM_UP
    stored = backend.tally().bodies - before
    name = f"{outbox}: stored at the service"
    found.append(Figure(name, stored, f"of {written}", written, is_least=True))
    return found


def main() -> None:
    """Measure and print."""
    asked, outboxes = options(__doc__)
    with raw_backend() as backend:
        found = [figure for outbox in outboxes for figure in measured(backend, asked, outbox)]
    report("Accepting a write", found, asked)


if __name__ == "__main__":
    main()
