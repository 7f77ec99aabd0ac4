"""The conservation law over files: processes accept, crash, close, adopt and send again, whatever the service answers."""

import asyncio
import random
import shutil
import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from moody_service import POLICY, PROVIDER, REPLIES
from outbox_process import Process
from scripted_service import Reply, turn
from virtual_loop import VirtualLoop

from memotel.counts import Count, Gauge
from memotel.outcomes import Adapter
from memotel.values import FlushReport, ReceiptStatus, Write
from memotel.writes.books import Totals
from memotel.writes.disk.inspection import Selection, inspect, resend
from memotel.writes.disk.schema import outbox_files
from memotel.writes.path import WritePath

MOST_PROCESSES = 3


async def _closed(path: WritePath, timeout: float) -> tuple[Totals, FlushReport, Totals]:
    """Close a path; return its books before, the report, its books after."""
    return path.stats().totals, await path.aclose(timeout), path.stats().totals


class Fleet(RuleBasedStateMachine):
    """Processes that share a directory, and a service that changes its mind all the time."""

    @initialize(most=st.integers(1, 12), seed=st.integers(0, 2**16))
    def open(self, most: int, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="memotel-"))
        self.loop = VirtualLoop()
        self.replies = ["stored"]
        self.jitter = random.Random(seed)  # noqa: S311 # replays a failing run, guards nothing
        self.most = most
        self.accepted = self.resent = self.number = 0
        self.ended = 0
        self.processes: list[Process] = []
        self.start()

    def _reply(self, write: Write, attempt: int) -> Reply:
        del write, attempt
        return REPLIES[self.jitter.choice(self.replies)]

    def _any(self) -> Process:
        return self.jitter.choice(self.processes)

    @precondition(lambda self: len(self.processes) < MOST_PROCESSES)
    @rule()
    def start(self) -> None:
        self.processes.append(
            Process(self.folder, self.loop, self._reply, policy=POLICY, most=self.most)
        )

    @precondition(lambda self: self.processes)
    @rule(sessions=st.lists(st.sampled_from("abcd"), min_size=1, max_size=6))
    def say(self, sessions: list[str]) -> None:
        path = self._any().desk.path
        for session in sessions:
            self.number += 1
            receipt = path.accept(turn(f"text {self.number}", session), Adapter.DIRECT)
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

    @precondition(lambda self: self.processes)
    @rule()
    def look(self) -> None:
        self._any().directory.look()

    @precondition(lambda self: self.processes)
    @rule()
    def crash(self) -> None:
        self._end(self._any(), is_crash=True)

    @precondition(lambda self: self.processes)
    @rule(timeout=st.sampled_from([0.0, 5.0]))
    def close(self, timeout: float) -> None:
        self._end(self._any(), is_crash=False, timeout=timeout)

    def _end(self, process: Process, *, is_crash: bool, timeout: float = 0.0) -> None:
        self.processes.remove(process)
        if is_crash:
            process.crash()
        else:
            before, report, after = self.loop.run_until_complete(
                _closed(process.desk.path, timeout)
            )
            assert after.pending == 0
            assert after.handed_over == report.pending
            assert report.delivered + report.failed + report.pending == before.pending
        self.ended += sum(process.desk.path.stats().totals.ended.values())

    @rule()
    def send_dead_letters_again(self) -> None:
        self.resent += resend(self.folder, Selection(), max_age_s=600.0, now=self.loop.time())

    @invariant()
    def the_books_balance(self) -> None:
        for path in outbox_files(self.folder) if hasattr(self, "folder") else ():
            seen = inspect(path)
            assert seen.problem is None
            for books in seen.accounts.values():
                assert books.totals.unaccounted == 0, books
        for process in getattr(self, "processes", ()):
            self._balances(process)

    def _balances(self, process: Process) -> None:
        totals = process.desk.path.stats().totals
        assert totals.unaccounted == 0
        assert totals.parked <= totals.pending <= self.most
        snapshot = process.desk.counts.snapshot()
        gained = sum(
            sum(snapshot.get(name, {}).values()) for name in (Count.ACCEPTED, Count.ADOPTED)
        )
        ended = sum(snapshot.get(Count.WRITES, {}).values())
        assert gained == totals.accepted + totals.adopted
        assert gained == ended + snapshot.get(Gauge.OUTBOX_PENDING, {}).get((PROVIDER,), 0)
        assert snapshot.get(Gauge.OUTBOX_PARKED, {}).get((PROVIDER,), 0) == totals.parked
        assert snapshot[Gauge.OUTBOX_DEGRADED] == {(PROVIDER,): 0}
        file = process.directory.current
        kept = {} if file is None else file.books()
        in_file = kept["account"].totals.pending if "account" in kept else 0
        assert in_file == totals.pending

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            with closing(self.loop):
                self._settle_down()
                shutil.rmtree(self.folder)

    def _settle_down(self) -> None:
        """Once the service is well and a process is there, each write ends, once, wherever it was accepted."""
        self.replies = ["stored"]
        for process in list(self.processes):
            self._end(process, is_crash=False)
        self.start()
        last = self.processes[0]
        for _ in range(2 * self.number + 2):
            last.directory.look()
            if not last.desk.path.stats().totals.pending:
                break
            self.wait(0.0)
            last.desk.path.quota_returned()
            last.desk.path.credentials_accepted()
            self.wait(100.0)
        self._end(last, is_crash=False)
        assert self.ended == self.accepted + self.resent
        for path in outbox_files(self.folder):
            (books,) = inspect(path).accounts.values()
            assert books.totals.pending == 0
            assert books.dead > 0  # nothing else keeps a file


TestFleet = Fleet.TestCase
TestFleet.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
