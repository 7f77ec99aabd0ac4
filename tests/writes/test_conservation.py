"""The conservation law, at every instant, whatever the service answers and whenever: a stateful property."""

import asyncio
import random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from moody_service import POLICY, PROVIDER, REPLIES
from scripted_service import Desk, Reply, desk, turn
from virtual_loop import VirtualLoop

from memotel.config import OutboxPolicy
from memotel.counts import Count, Gauge
from memotel.outcomes import Adapter
from memotel.values import FlushReport, ReceiptStatus, Write
from memotel.writes.books import Totals


class Books(RuleBasedStateMachine):
    """A write path whose service changes its mind all the time."""

    @initialize(most=st.integers(1, 12), seed=st.integers(0, 2**16))
    def open(self, most: int, seed: int) -> None:
        self.loop = VirtualLoop()
        self.replies = ["stored"]
        self.jitter = random.Random(seed)  # noqa: S311 # replays a failing run, guards nothing
        self.desk: Desk = desk(
            self.loop,
            self._reply,
            policy=POLICY,
            outbox=OutboxPolicy(max_writes=most),
            rng=self.jitter.random,
        )
        self.accepted = self.number = 0
        self.is_closed = False

    def _reply(self, write: Write, attempt: int) -> Reply:
        del write, attempt
        self.the_books_balance()
        return REPLIES[self.jitter.choice(self.replies)]

    @rule(sessions=st.lists(st.sampled_from("abcd"), min_size=1, max_size=6))
    def say(self, sessions: list[str]) -> None:
        for session in sessions:
            self.number += 1
            receipt = self.desk.path.accept(turn(f"text {self.number}", session), Adapter.DIRECT)
            self.accepted += receipt.status is ReceiptStatus.ACCEPTED

    @rule(
        replies=st.sampled_from([["over quota"], ["strict quota", "stored"], ["failing", "stored"]])
        | st.lists(st.sampled_from(sorted(REPLIES)), min_size=1, max_size=4)
    )
    def change_mind(self, replies: list[str]) -> None:
        self.replies = replies

    @rule(seconds=st.sampled_from([0.0, 0.005, 0.02, 1.0, 40.0, 700.0]))
    def wait(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))

    @rule()
    def evidence_of_health(self) -> None:
        self.desk.path.quota_returned()
        self.desk.path.credentials_accepted()

    @rule(timeout=st.sampled_from([0.0, 0.5, 30.0]))
    def flush(self, timeout: float) -> None:
        async def between() -> tuple[Totals, FlushReport, Totals]:
            path = self.desk.path
            return path.stats().totals, await path.aflush(timeout), path.stats().totals

        before, report, after = self.loop.run_until_complete(between())
        assert report.pending == after.pending
        assert report.delivered + report.failed == before.pending - after.pending

    @precondition(lambda self: not self.is_closed)
    @rule(timeout=st.sampled_from([0.0, 5.0]))
    def close(self, timeout: float) -> None:
        report = self.loop.run_until_complete(self.desk.path.aclose(timeout))
        assert report.pending == 0
        assert self.desk.path.stats().totals.pending == 0
        self.is_closed = True

    @invariant()
    def the_books_balance(self) -> None:
        if not hasattr(self, "desk"):
            return
        totals = self.desk.path.stats().totals
        assert totals.unaccounted == 0
        assert totals.accepted == self.accepted
        assert totals.parked <= totals.pending
        snapshot = self.desk.counts.snapshot()
        gained = sum(snapshot.get(Count.ACCEPTED, {}).values())
        ended = sum(snapshot.get(Count.WRITES, {}).values())
        pending = snapshot.get(Gauge.OUTBOX_PENDING, {}).get((PROVIDER,), 0)
        assert gained == ended + pending
        assert (gained, pending) == (totals.accepted, totals.pending)
        parked = snapshot.get(Gauge.OUTBOX_PARKED, {}).get((PROVIDER,), 0)
        assert parked == totals.parked
        size = snapshot.get(Gauge.OUTBOX_BYTES, {}).get((PROVIDER,), 0)
        assert size == totals.size_bytes
        assert (size == 0) == (pending == 0)
        assert (snapshot.get(Gauge.UNACCOUNTED) == {(PROVIDER,): 0}) != self.is_closed

    def teardown(self) -> None:
        if hasattr(self, "desk"):
            self._settle_down()
            self.loop.close()

    def _settle_down(self) -> None:
        """Once the service is well, everything that is left ends, and the books are closed."""
        self.replies = ["stored"]
        self.wait(0.0)
        self.evidence_of_health()
        self.wait(2_000.0)
        totals = self.desk.path.stats().totals
        assert totals.pending == 0
        assert sum(totals.ended.values()) == self.accepted
        self.the_books_balance()


TestBooks = Books.TestCase
TestBooks.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
