"""The outbox files of one directory: our own, and those that ended processes left, which are emptied and removed."""

import logging
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from memotel.counts import Counts, Gauge, Labels
from memotel.deadline import monotonic
from memotel.notices import fault_of
from memotel.outcomes import Provider
from memotel.places import Place
from memotel.writes.disk.adoption import Visit
from memotel.writes.disk.file import OutboxFile
from memotel.writes.disk.reading import DeadRow
from memotel.writes.disk.rows import Row
from memotel.writes.disk.schema import is_corrupt, outbox_files

JITTER = (0.75, 1.25)
STOP_S = 2.0
"""How long closing waits for a look at the directory that is under way."""

logger = logging.getLogger("memotel.outbox")


class Member(Protocol):
    """An account of this process whose writes are kept in the directory. Its methods may take the account's locks."""

    account: str
    provider: Provider

    def has_room(self) -> bool:
        """Whether at least one more write may wait."""
        ...

    def adopt(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Take rows over into our own file; return those that need not stay where they are."""
        ...

    def adopt_dead(self, letters: Sequence[DeadRow]) -> Sequence[DeadRow]:
        """Take dead letters over into our own file; return those that need not stay where they are."""
        ...

    def tend(self) -> None:
        """Bring the file up to date, and notice what was done to it from outside."""
        ...

    def strays(self, file: OutboxFile) -> Sequence[int]:
        """Return the numbers of the account's rows in our own file that nobody here will deliver."""
        ...

    def damaged(self, name: str) -> None:
        """Say and count that a file was set aside."""
        ...

    def newer(self, name: str) -> None:
        """Say that a file of a newer memotel is left alone."""
        ...

    def unreadable(self, writes: int) -> None:
        """Say that writes could not be read and were dropped."""
        ...


class OutboxDirectory:
    """One directory, as this process uses it. Thread-safe.

    Our own file is made when it is first asked for, and released when the last account leaves. While accounts are here a
    thread looks, every `interval_s` seconds, for files whose owner has ended; without `looks_by_itself` somebody calls
    `look`.
    """

    def __init__(
        self,
        place: Place,
        counts: Counts,
        *,
        interval_s: float,
        dead_max_age_s: float,
        wall: Callable[[], float] = time.time,
        looks_by_itself: bool = True,
    ) -> None:
        self.place = place
        self._wall = wall
        self._looks_by_itself = looks_by_itself
        self._counts = counts
        self._interval_s = interval_s
        self._dead_max_age_s = dead_max_age_s
        self._lock = threading.RLock()
        self._file: OutboxFile | None = None
        self._members: dict[str, Member] = {}
        self._replaced: list[Member] = []
        self._keeper: _Keeper | None = None
        self._foreign: Mapping[str, int] = {}
        self._told: set[Path] = set()

    def file(self) -> OutboxFile:
        """Return our own file. Raises `OSError` or `sqlite3.Error` where there is none and none can be made."""
        with self._lock:
            if self._file is None:
                self.place.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file = OutboxFile.create(
                    self.place.directory, is_full_sync=self.place.is_full_sync
                )
                self._file.on_growth = self._nudge
            return self._file

    @property
    def current(self) -> OutboxFile | None:
        """Our own file, where there is one by now."""
        return self._file

    def lose(self, file: OutboxFile) -> None:
        """Give up a file of ours that is damaged or gone; the next one asked for is fresh."""
        with self._lock:
            if self._file is not file:
                return
            self._file = None
            try:
                if file.is_ours:
                    file.set_aside()
            except OSError:
                pass  # there is nothing to put aside, or it cannot be
            file.release()
        for member in list(self._members.values()):
            member.damaged(file.path.name)

    def join(self, member: Member) -> None:
        """Keep an account's writes here from now on, and look for what others have left for it."""
        with self._lock:
            before = self._members.get(member.account)
            if before is not None and before is not member:
                self._replaced.append(before)
            self._members[member.account] = member
            if self._keeper is None:
                self._counts.add_source(self._gauges)
                self._keeper = _Keeper(self.look, self._checkpoint, self._interval_s)
                if self._looks_by_itself:
                    self._keeper.start()
        self.wake()

    def leave(self, member: Member) -> None:
        """Hand an account's writes over to whoever adopts them: another process, or this one when it asks again."""
        with self._lock:
            if self._members.get(member.account) is not member:
                self._forget_replaced(member)
                return
            del self._members[member.account]
            keeper = None if self._members else self._keeper
            if keeper is not None:
                self._keeper = None
                self._counts.remove_source(self._gauges)
        if keeper is not None:
            keeper.stop()
        with self._lock:
            self._leave_behind(member)

    def _forget_replaced(self, member: Member) -> None:
        """Let go of a member whose account came back before it left; the next look finds what it leaves behind."""
        if member in self._replaced:
            self._replaced.remove(member)
            self.wake()

    def wake(self) -> None:
        """Have the directory looked at now."""
        keeper = self._keeper
        if keeper is not None:
            keeper.wake()

    def _nudge(self) -> None:
        keeper = self._keeper
        if keeper is not None:
            keeper.nudge()

    def _checkpoint(self) -> None:
        file = self._file
        if file is None:
            return
        try:
            file.checkpoint()
        except (OSError, sqlite3.Error):
            pass  # SQLite does it itself when the log is long

    def _leave_behind(self, member: Member) -> None:
        file = self._file
        if file is None:
            return
        if not self._members:
            self._file = None
            file.release()
        elif member.account not in self._members:
            self._split(file, member)

    def _split(
        self, file: OutboxFile, member: Member, *, numbers: Collection[int] | None = None
    ) -> None:
        """Move rows of an account that nobody here delivers to a file that anyone may adopt: those, or all.

        Under our lock, so that the file is not released amid it. A row that is purged meanwhile is gone there too.
        """
        account, provider = member.account, member.provider
        try:
            rows, _ = file.rows(account)
            rows = [row for row in rows if numbers is None or row.number in numbers]
            if not rows:
                return
            orphan = OutboxFile.create(self.place.directory, is_full_sync=self.place.is_full_sync)
            try:
                copies = {row.write.key: row.number for row in orphan.adopt(rows)}
                moved = set(file.hand_over(account, provider, [row.number for row in rows]))
                purged = [copies[row.write.key] for row in rows if row.number not in moved]
                orphan.drop(account, provider, purged)
            finally:
                orphan.release()
        except (OSError, sqlite3.Error):
            pass  # they stay in our file, which others adopt when this process ends

    def look(self) -> None:
        """Tend our own file, then adopt what ended processes left. Not under an account's locks."""
        with self._lock:
            members = dict(self._members)
            file = self._own(members)
        if file is not None and not file.is_in_place():
            self.lose(file)
        for member in members.values():
            member.tend()
        self._give_up_strays(members)
        self._foreign = self._visit_others(members)
        self._tidy()

    def _own(self, members: Mapping[str, Member]) -> OutboxFile | None:
        """Return our own file, made here so that no turn has to wait for it."""
        if not members:
            return None
        try:
            return self.file()
        except (OSError, sqlite3.Error):
            return None  # whoever writes next notices, and says so

    def _give_up_strays(self, members: Mapping[str, Member]) -> None:
        """Have what a replaced member or an interrupted turn has left in our own file adopted, as from anyone."""
        for account, member in members.items():
            file = self._file
            numbers = set() if file is None else set(member.strays(file))
            if file is None or not numbers:
                continue
            with self._lock:
                is_alone = self._members.get(account) is member and not any(
                    each.account == account for each in self._replaced
                )
                if is_alone and self._file is file:
                    self._split(file, member, numbers=numbers)

    def _visit_others(self, members: Mapping[str, Member]) -> Mapping[str, int]:
        own = self._file
        visit = Visit(members, self._wall(), self._dead_max_age_s, self._told)
        try:
            for path in outbox_files(self.place.directory):
                if own is None or path != own.path:
                    visit.file(path)
            visit.remains(self.place.directory)
        except OSError:
            pass  # the directory may not be looked into now; whoever writes notices, and says so
        return visit.foreign

    def _tidy(self) -> None:
        with self._lock:
            file = self._file
        if file is None:
            return
        try:
            file.prune(self._wall(), self._dead_max_age_s)
            file.tidy()
        except (OSError, sqlite3.Error) as error:
            if is_corrupt(error):
                self.lose(file)

    def _gauges(self) -> Iterable[tuple[Gauge, Labels, float]]:
        for provider, writes in self._foreign.items():
            yield Gauge.OUTBOX_FOREIGN, (provider,), float(writes)


class _Keeper:
    """A daemon thread that looks now and then and when it is woken, and tends the log when it is nudged."""

    def __init__(
        self, look: Callable[[], None], tend: Callable[[], None], interval_s: float
    ) -> None:
        self._look = look
        self._tend = tend
        self._interval_s = interval_s
        self._event = threading.Event()
        self._look_at = 0.0
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="memotel-outbox", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._look_at = 0.0
        self._event.set()

    def nudge(self) -> None:
        self._event.set()

    def stop(self) -> None:
        self._is_stopped = True
        self._event.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(STOP_S)

    def _run(self) -> None:
        while not self._is_stopped:
            self._event.clear()
            try:
                self._work()
            except Exception as error:  # noqa: BLE001 # one bad look must not end all later ones
                logger.error("the outbox directory could not be looked at: %s", fault_of(error))  # noqa: TRY400 # a trace may hold words
            if not self._is_stopped:
                self._event.wait(max(0.0, self._look_at - monotonic()))

    def _work(self) -> None:
        self._tend()
        if monotonic() >= self._look_at:
            spread = random.uniform(*JITTER)  # noqa: S311 # spreads looks, guards nothing
            self._look_at = monotonic() + self._interval_s * spread
            self._look()
