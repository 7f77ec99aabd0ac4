"""How many writes of an outbox on disk reach the service when their process is killed right after it accepted them.

First one process after another: killed, then a new one delivers. Then four that share a directory, two credentials
between them, one of which is killed while the others go on. Counted at the service. Run: python -m benchmarks.crash_loss
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness import Figure, Options, options, report
from benchmarks.service import Service, service
from benchmarks.writing import client_at, turns_of
from memotel.client import MemoryClient
from memotel.devserver import Fault
from memotel.values import Scope

WRITES = 1_000
WORKERS = 4
SHARE = 500
SCOPES = 20
PATIENCE_S = 120.0
KEYS = ("ms_red", "ms_blue")


Job = tuple[str, str, str, str, int]
"""What a process does: the service's URL, the outbox's directory, the key, the turns' label, and how many."""


def accept(job: Job) -> MemoryClient:
    """Accept the turns, in this process; return its client."""
    url, directory, key, label, count = job
    memory = client_at(url, f"sqlite://{directory}", api_key=key)
    for turn in turns_of(count, SCOPES, label):
        memory.write(turn)
    return memory


def accept_and_die(job: Job) -> None:
    """Accept the turns and be killed with the last one accepted."""
    accept(job)
    os.kill(os.getpid(), signal.SIGKILL)


def accept_and_stay(job: Job) -> None:
    """Accept the turns, deliver what there is until the input ends, then end as any script does."""
    memory = accept(job)
    memory.recall(Scope("ada", "a new process"), "What do you know of me by now?")
    sys.stdin.read()


def start(function: str, job: Job) -> "subprocess.Popen[bytes]":
    """Run one of these functions in a process of its own."""
    call = f"from benchmarks.crash_loss import {function}; {function}({job!r})"
    return subprocess.Popen((sys.executable, "-c", call), stdin=subprocess.PIPE)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Let a process that stays end."""
    process.communicate(timeout=PATIENCE_S)
    if process.returncode != 0:
        raise RuntimeError(f"a process ended with {process.returncode}")


def killed(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a process that is killed."""
    if process.wait(PATIENCE_S) != -signal.SIGKILL:
        raise RuntimeError(f"a process ended with {process.returncode} instead of being killed")


@contextmanager
def directory_of_its_own() -> Iterator[str]:
    """Give an empty directory."""
    with tempfile.TemporaryDirectory(prefix="memotel-outbox-") as directory:
        yield directory


def run(server: Service, number: int, *, is_away: bool) -> tuple[int, int, int, float]:
    """Kill a process and have a new one deliver.

    Returns how many of its writes the service had when it died, how many it has in the end, each once, how many files are
    left, and the seconds that delivery took.
    """
    server.ask("reset")
    server.fail(*([Fault("refuse")] if is_away else []))
    label = f"run {number}"
    with directory_of_its_own() as directory:
        killed(start("accept_and_die", (server.url, directory, KEYS[0], label, WRITES)))
        before = len(server.items())
        server.fail()
        new = start("accept_and_stay", (server.url, directory, KEYS[0], "none", 0))
        seconds = server.wait_for(WRITES, PATIENCE_S)
        end(new)
        left = len(list(Path(directory).iterdir()))
    texts = [turn.text for turn in turns_of(WRITES, SCOPES, label)]
    return before, server.stored_once(texts), left, seconds


def one_after_another(server: Service, asked: Options) -> list[Figure]:
    """Measure processes that are killed one after another, every second one while the service is away."""
    found = []
    for is_away in (False, True):
        runs = [run(server, n, is_away=is_away) for n in range(asked.of(5, 1))]
        name = "service away" if is_away else "service well"
        before = ", ".join(str(each[0]) for each in runs)
        fewest = min(stored for _, stored, _, _ in runs)
        note = f"the worst of {len(runs)} runs; before the kill: {before}"
        found += [
            Figure(f"{name}: stored", fewest, f"of {WRITES}", WRITES, is_least=True, note=note),
            Figure(f"{name}: files left", max(each[2] for each in runs), "", 0),
            Figure(f"{name}: delivered within", max(each[3] for each in runs), "s"),
        ]
    return found


def side_by_side(server: Service) -> list[Figure]:
    """Measure four processes that share a directory, one of which is killed."""
    server.ask("reset")
    labels = [f"{KEYS[n % 2]} {n}" for n in range(WORKERS)]
    texts = [turn.text for label in labels for turn in turns_of(SHARE, SCOPES, label)]
    with directory_of_its_own() as directory:
        began = time.monotonic()
        jobs = [(server.url, directory, KEYS[n % 2], labels[n], SHARE) for n in range(WORKERS)]
        victim = start("accept_and_die", jobs[0])
        others = [start("accept_and_stay", each) for each in jobs[1:]]
        killed(victim)
        server.wait_for(len(texts), PATIENCE_S)
        seconds = time.monotonic() - began
        for each in others:
            end(each)
        left = len(list(Path(directory).iterdir()))
    total = len(texts)
    note = f"within {seconds:.0f} s"
    return [
        Figure(
            "four share a directory: stored",
            server.stored_once(texts),
            f"of {total}",
            total,
            is_least=True,
            note=note,
        ),
        Figure("four share a directory: files left", left, "", 0),
        Figure("four share a directory: in the wrong account", strays(server), "", 0),
    ]


def strays(server: Service) -> int:
    """Return how many items are in an account whose key is not the one that they were written with."""
    accounts: dict[str, Counter[str]] = {}
    for item in server.items():
        key = next(key for key in KEYS if key in item.text)
        accounts.setdefault(item.scope.account, Counter())[key] += 1
    owners = [each.most_common(1)[0] for each in accounts.values()]
    total = sum(each.total() for each in accounts.values())
    if sorted(key for key, _ in owners) != sorted(KEYS):
        return total
    return total - sum(count for _, count in owners)


def main() -> None:
    """Measure and print."""
    asked = options(__doc__)
    with service() as server:
        found = [*one_after_another(server, asked), *side_by_side(server)]
    report("Writes of processes that are killed", found, asked)


if __name__ == "__main__":
    main()
