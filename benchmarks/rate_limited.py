"""Recalls beside a backlog of writes, on a key that may make 30 requests a minute.

The recalls alone stay within the limit, so a recall that is refused was refused because of writes. Both services, each
with a backlog and, as the baseline, without, at the same time. Run: python -m benchmarks.rate_limited
"""

import multiprocessing
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.chats import QUESTION
from benchmarks.harness import Figure, options, report
from memotel.client import MemoryClient
from memotel.devserver import DevServer, RateLimit
from memotel.outcomes import Adapter, Outcome, Provider, Speaker
from memotel.settings import resolve
from memotel.values import Scope, Turn

PER_MINUTE = 30
BACKLOG = 1_000
TURN_EVERY_S = 4.2
"""Fourteen recalls a minute: less than the half of the limit that is theirs."""


@contextmanager
def service() -> Iterator[str]:
    """Run the development server, with the limit on each key, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        ours.close()
        process.join(10)


def _serve(pipe: Connection) -> None:
    with DevServer() as server:
        server.set_rate_limit(RateLimit(per_min=PER_MINUTE))
        pipe.send(server.url)
        try:
            pipe.recv()
        except EOFError:
            return


class Case:
    """One key: its recalls, and what they ended in."""

    def __init__(self, url: str, provider: Provider, backlog: int) -> None:
        self.name = f"{provider}, backlog {backlog}"
        self.backlog = backlog
        self.outcomes: Counter[Outcome] = Counter()
        self.delivered = 0
        key = f"{'rk' if provider is Provider.REKALL else 'ms'}_{backlog}"
        options: dict[str, Any] = {"api_key": key, "exit_drain_timeout": 0.0, "recall_timeout": 4.0}
        self._client = MemoryClient(resolve(provider, Adapter.DIRECT, url=url, **options))

    def run(self, turns: int) -> None:
        """Hand over the backlog, then recall at an even pace."""
        for number in range(self.backlog):
            scope = Scope("ada", f"session {number}")
            self._client.write(Turn(scope, Speaker.HUMAN, f"I wrote down fact number {number}."))
        for _ in range(turns):
            due = time.monotonic() + TURN_EVERY_S
            self.outcomes[self._client.recall(Scope("ada", "s"), QUESTION).outcome] += 1
            time.sleep(max(0.0, due - time.monotonic()))
        self.delivered = self.backlog - self._client.flush(0.0).pending
        self._client.close(0.0)

    @property
    def refused(self) -> int:
        """How many recalls met the limit."""
        return self.outcomes[Outcome.RATE_LIMITED]

    @property
    def answered(self) -> int:
        """How many recalls were answered."""
        return self.outcomes[Outcome.HIT] + self.outcomes[Outcome.EMPTY]


def main() -> None:
    """Measure and print."""
    asked = options(__doc__)
    turns = asked.of(60, 8)
    with service() as url:
        cases = [Case(url, provider, backlog) for provider in Provider for backlog in (0, BACKLOG)]
        threads = [threading.Thread(target=case.run, args=(turns,)) for case in cases]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    figures = [
        Figure(f"{case.name}: recalls answered", case.answered, f"of {turns}") for case in cases
    ]
    figures += [
        Figure(
            f"{case.name}: recalls refused",
            case.refused,
            f"of {turns}",
            0 if case.backlog else None,
            note=f"{case.delivered} writes ended",
        )
        for case in cases
    ]
    remarks = [f"{case.name}: {dict(case.outcomes)}" for case in cases]
    report(f"{PER_MINUTE} requests a minute, {turns} turns", figures, asked, remarks)


if __name__ == "__main__":
    main()
