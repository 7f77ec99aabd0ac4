"""A process as far as its outbox on disk goes: a directory, a write path in virtual time, and an end, good or bad."""

from collections.abc import Callable
from pathlib import Path

from moody_service import PROVIDER
from scripted_service import Desk, Script, always_stored, desk
from virtual_loop import VirtualLoop

from memotel.config import OutboxPolicy, WritePolicy
from memotel.counts import Counts
from memotel.notices import Notices
from memotel.places import Place
from memotel.writes.clocks import Clocks
from memotel.writes.disk.directory import OutboxDirectory
from memotel.writes.disk.file import OutboxFile
from memotel.writes.disk.outbox import SqliteOutbox
from memotel.writes.notices import WriteNotices


class Process:
    """A process of one account. Nothing happens by itself: somebody calls `look`."""

    def __init__(
        self,
        folder: Path,
        loop: VirtualLoop,
        script: Script = always_stored,
        *,
        policy: WritePolicy | None = None,
        most: int = 10_000,
        most_bytes: int = 2**25,
        account: str = "account",
        directory: OutboxDirectory | None = None,
    ) -> None:
        writes = policy or WritePolicy()
        outbox_policy = OutboxPolicy(max_writes=most, max_bytes=most_bytes)
        self.loop = loop
        self.counts = Counts()
        self.directory = directory or OutboxDirectory(
            Place(folder),
            self.counts,
            interval_s=1.0,
            dead_max_age_s=outbox_policy.dead_letter_max_age_s,
            wall=loop.time,
            looks_by_itself=False,
        )
        self.outbox = SqliteOutbox(
            account,
            PROVIDER,
            self.directory,
            policy=outbox_policy,
            max_parked_age_s=writes.max_parked_age_s,
            notices=WriteNotices(Notices(PROVIDER, account)),
            clocks=Clocks(loop.time, loop.time),
        )
        self.desk: Desk = desk(
            loop,
            script,
            policy=writes,
            outbox=outbox_policy,
            account=account,
            outbox_on_disk=self.outbox,
        )
        self.counts = self.desk.counts
        self.path = self.desk.path
        self.path.open()

    @property
    def file(self) -> OutboxFile:
        """The process's own file."""
        return self.directory.file()

    def look(self) -> None:
        """Have the directory looked at, and what it brings sent."""
        self.directory.look()

    def pending(self) -> int:
        """How many writes wait."""
        return self.path.stats().totals.pending

    def close(self, timeout: float = 0.0) -> None:
        """End well."""
        self.loop.run_until_complete(self.path.aclose(timeout))

    def crash(self) -> None:
        """End without a word: what is in memory and in flight is gone, the lock is free, the file is as it is."""
        drain = self.path._drain
        drain.stop()
        for task in drain._tasks:
            task.cancel()
        self.outbox._is_closed = True
        file = self.directory.current
        if file is not None:
            file._close()
            file._flock.release()


Start = Callable[..., Process]
"""Makes a process of a test's own directory, from what follows the loop in `Process`."""
