"""What is said of an outbox file: how safe a commit is, what stands in it and what never, and what is left alone."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from memotel import Adapter, MemoryClient, Provider, Scope, Speaker, Turn, resolve, runtime
from memotel.counts import Counts
from memotel.places import place_of
from memotel.writes.disk.adoption import Visit
from memotel.writes.disk.directory import OutboxDirectory
from memotel.writes.disk.file import OutboxFile
from memotel.writes.disk.reading import DeadRow
from memotel.writes.disk.rows import Row
from memotel.writes.disk.schema import VERSION, outbox_files

SYNC = {"": 1, "?synchronous=normal": 1, "?synchronous=full": 2}
"""What SQLite calls NORMAL and FULL."""


@contextmanager
def directory_at(url: str) -> Iterator[OutboxDirectory]:
    place = place_of(url)
    assert place is not None
    yield OutboxDirectory(
        place, Counts(), interval_s=1.0, dead_max_age_s=1.0, looks_by_itself=False
    )


def pragma(file: OutboxFile, name: str) -> Any:
    return file._db.execute(f"PRAGMA {name}").fetchone()[0]


@pytest.mark.parametrize("options", SYNC)
def test_commit_is_as_safe_as_was_asked_for(tmp_path: Path, options: str) -> None:
    with directory_at(f"sqlite://{tmp_path}{options}") as directory:
        file = directory.file()
        assert pragma(file, "synchronous") == SYNC[options]
        assert pragma(file, "journal_mode") == "wal"
        assert pragma(file, "secure_delete") == 1
        file.release()


@pytest.mark.parametrize("options", SYNC)
def test_client_is_given_what_its_setting_says(tmp_path: Path, options: str) -> None:
    settings = resolve(
        Provider.REKALL,
        Adapter.DIRECT,
        url="http://127.0.0.1:9",
        api_key="rk_1",
        outbox=f"sqlite://{tmp_path}{options}",
        exit_drain_timeout=0.0,
    )
    client = MemoryClient(settings)
    client.write(Turn(Scope("ada", "s"), Speaker.HUMAN, "I keep bees"))
    (directory,) = [
        each for each in runtime.current().outboxes.values() if each.place.directory == tmp_path
    ]
    assert pragma(directory.file(), "synchronous") == SYNC[options]
    client.close(0.0)


def test_no_credential_and_no_header_is_ever_in_a_file(tmp_path: Path) -> None:
    client = MemoryClient(
        resolve(
            Provider.REKALL,
            Adapter.DIRECT,
            url="http://127.0.0.1:9",
            api_key="rk_never_to_be_seen",
            headers={"X-Team": "team_never_to_be_seen"},
            outbox=f"sqlite://{tmp_path}",
            exit_drain_timeout=0.0,
        )
    )
    client.write(Turn(Scope("ada", "s"), Speaker.HUMAN, "I keep bees"))
    client.close(0.0)

    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"I keep bees" in content
    assert b"never_to_be_seen" not in content


class Listener:
    """An account that adopts nothing and hears what is said of files."""

    account = "acc"
    provider = Provider.REKALL

    def __init__(self) -> None:
        self.newer_files: list[str] = []

    def has_room(self) -> bool:
        return True

    def adopt(self, rows: Sequence[Row]) -> Sequence[Row]:
        raise AssertionError("a newer file is left alone")

    def adopt_dead(self, letters: Sequence[DeadRow]) -> Sequence[DeadRow]:
        raise AssertionError("a newer file is left alone")

    def tend(self) -> None:
        raise AssertionError("nobody asked for it")

    def damaged(self, name: str) -> None:
        raise AssertionError("a newer file is not damaged")

    def newer(self, name: str) -> None:
        self.newer_files.append(name)

    def unreadable(self, writes: int) -> None:
        raise AssertionError("a newer file is left alone")


def test_newer_file_is_spoken_of_once_in_a_process_however_long_it_lives(tmp_path: Path) -> None:
    OutboxFile.create(tmp_path).release()  # an empty one goes
    file = OutboxFile.create(tmp_path)
    file.count("acc", Provider.REKALL, accepted=1)
    path = file.path
    file._close()
    file._flock.release()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    listener, told = Listener(), set[Path]()

    for day in range(3):
        Visit({"acc": listener}, 86_400.0 * day, 1.0, told).file(path)

    assert listener.newer_files == [path.name]
    assert outbox_files(tmp_path) == [path]
    assert path.read_bytes() == before
