"""What an outbox on disk has to bear: interrupts at any moment, files that are somebody else's, half-done ends, no locks."""

import asyncio
import errno
import fcntl
import logging
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from types import FrameType

import pytest
from outbox_process import Process, Start
from scripted_service import Reply, turn, unavailable
from virtual_loop import VirtualLoop

from memotel.counts import Gauge
from memotel.outboxcli import main
from memotel.outcomes import Adapter, Provider, Speaker, WriteOutcome
from memotel.values import ReceiptStatus, Scope, Turn, Write
from memotel.writes.disk import file as file_module
from memotel.writes.disk import inspection as outside
from memotel.writes.disk import schema
from memotel.writes.disk.adoption import Visit
from memotel.writes.disk.file import OutboxFile
from memotel.writes.disk.filelock import FileLock, lock_path
from memotel.writes.disk.inspection import Purged, Selection
from memotel.writes.disk.reading import DeadRow
from memotel.writes.disk.rows import Row, row_of, unpack, values_of
from memotel.writes.disk.schema import (
    is_gone,
    is_trusted,
    new_name,
    outbox_files,
    parts_of,
    place_of,
)

PROVIDER = Provider.MEMORYSYNC
LATER = 2e9
MOST_CALLS = 100
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for a file that is locked."""
    monkeypatch.setattr(schema, "BUSY_TIMEOUT_S", 0.01)


def down(write: Write, attempt: int) -> Reply:
    del write, attempt
    return unavailable()


def say(process: Process, *texts: str) -> list[ReceiptStatus]:
    return [process.path.accept(turn(text), Adapter.DIRECT).status for text in texts]


def rest(loop: VirtualLoop, seconds: float = 1.0) -> None:
    loop.run_until_complete(asyncio.sleep(seconds))


def write(text: str = "hello", account: str = "acc") -> Write:
    said = Turn(Scope("ada", "s"), Speaker.HUMAN, text, source="test")
    return Write(said, f"key of {text}", account, 1e9, Adapter.DIRECT)


def put(file: OutboxFile, *texts: str) -> list[int]:
    return [file.put(write(text), PROVIDER, 100, LATER) for text in texts]


def bury(file: OutboxFile, *texts: str, died_at: float = 1e9, most: int = 10) -> None:
    for text in texts:
        (number,) = put(file, text)
        file.bury(number, "acc", PROVIDER, cause="422", died_at=died_at, most=most)


def texts_in(folder: Path) -> list[str]:
    return [row.write.turn.text for path in outbox_files(folder) for row in outside.waiting(path)]


def is_interrupted_after(calls: int, action: Callable[[], object]) -> bool:
    """Run an action, and interrupt it after so many calls of C in the outbox file; say whether it came so far.

    That is when Python looks whether Ctrl-C was pressed.
    """
    left = calls

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        left -= event == "c_return" and frame.f_code.co_filename == file_module.__file__
        if left == 0:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(watch)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


def test_write_is_kept_wherever_an_earlier_one_was_interrupted(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    process = start()
    say(process, "first")
    calls = 0
    for call in range(1, MOST_CALLS):
        text = f"interrupted after {call}"
        if not is_interrupted_after(call, lambda text=text: say(process, text)):  # type: ignore[misc] # bound now
            break
        calls = call
        assert say(process, f"after {call}") == [ReceiptStatus.ACCEPTED]
    assert 2 <= calls < MOST_CALLS - 1

    kept = sorted(texts_in(tmp_path))
    rest(loop)
    process.look()
    rest(loop)

    assert sorted(process.desk.service.stored) == kept
    assert {f"after {call}" for call in range(1, calls + 1)} <= set(kept)
    assert texts_in(tmp_path) == []
    (books,) = outside.inspect(process.file.path).accounts.values()
    assert books.totals.unaccounted == 0
    process.close()
    assert list(tmp_path.iterdir()) == []


def test_interrupted_transaction_leaves_none_open(tmp_path: Path) -> None:
    file = OutboxFile.create(tmp_path)
    put(file, "one", "two", "three")
    for call in range(1, MOST_CALLS):
        if not is_interrupted_after(call, lambda: file.mark([(None, LATER, 1)])):
            break
        file.prune(0.0, 1.0)
    assert 2 <= call < MOST_CALLS - 1
    file.end(1, "acc", PROVIDER, WriteOutcome.STORED)
    assert put(file, "four") != [0]
    assert sorted(texts_in(tmp_path)) == ["four", "three", "two"]
    file.release()


def test_account_that_comes_back_before_it_has_left_delivers_what_it_leaves_behind(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    before = start(down)
    say(before, "one", "two")
    after = start(directory=before.directory)
    after.look()
    say(after, "three")
    rest(loop)
    assert after.desk.service.stored == ["three"]

    before.close()
    after.look()
    rest(loop)

    assert after.desk.service.stored == ["three", "one", "two"]
    totals = after.path.stats().totals
    assert (totals.adopted, totals.unaccounted) == (2, 0)
    after.close()
    assert list(tmp_path.iterdir()) == []


def test_whatever_is_not_ours_in_the_directory_is_left_as_it_is(
    start: Start, loop: VirtualLoop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "outbox"
    folder.mkdir()
    other = tmp_path / "somebody's.db"
    for path in (other, folder / "outbox-events.db"):
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE events (body)")
    names = [f"outbox-0000000000000000000{number}-0badf11e.db" for number in range(5)]
    (folder / names[0]).symlink_to(other)
    (folder / names[1]).mkdir()
    os.mkfifo(folder / names[2])
    (folder / names[3]).touch()
    (folder / f"{names[3]}.lock").symlink_to(tmp_path / "not to be made")
    os.mkfifo(folder / f"{names[4]}.lock")
    (folder / names[4]).touch()
    content = {path: path.read_bytes() for path in (other, folder / "outbox-events.db")}

    assert main(["status", str(folder)]) == 0
    assert names[4] in capsys.readouterr().out
    process = Process(folder, loop)
    say(process, "one")
    process.look()
    rest(loop)

    assert process.desk.service.stored == ["one"]
    assert {path: path.read_bytes() for path in content} == content
    assert not (tmp_path / "not to be made").exists()
    process.close()
    assert {path.name for path in folder.iterdir()} >= {"outbox-events.db", *names[:4]}


@needs_root
def test_file_of_somebody_else_is_not_adopted_but_for_the_directorys_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = OutboxFile.create(tmp_path)
    put(file, "planted")
    file.release()
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    os.chown(tmp_path, 4242, -1)
    os.chown(file.path, 12345, -1)
    assert not is_trusted(file.path)
    assert OutboxFile.take(file.path) is None
    os.chown(tmp_path, 12345, -1)
    assert is_trusted(file.path)


@needs_root
def test_letters_that_root_sends_again_belong_to_whoever_has_the_file(tmp_path: Path) -> None:
    file = OutboxFile.create(tmp_path)
    bury(file, "rejected")
    file.release()
    for path in tmp_path.iterdir():
        os.chown(path, 12345, 12345)
    assert outside.resend(tmp_path, Selection()) == 1
    (_, fresh) = outbox_files(tmp_path)
    for path in (fresh, lock_path(fresh)):
        assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12345)


def test_logs_whose_file_is_gone_go_too(start: Start, tmp_path: Path) -> None:
    for number, suffixes in enumerate((["-wal"], ["-wal", "-shm"], [".lock"], ["-shm", ".lock"])):
        for suffix in suffixes:
            name = f"outbox-0000000000000000000{number}-0badf11e.db{suffix}"
            (tmp_path / name).write_bytes(b"words")
    process = start()
    process.look()
    process.close()
    assert list(tmp_path.iterdir()) == []


def test_log_of_a_file_whose_owner_lives_stays(start: Start, tmp_path: Path) -> None:
    owner = OutboxFile.create(tmp_path)
    put(owner, "one")
    owner.path.rename(tmp_path / "moved")
    process = start()
    process.look()
    assert parts_of(owner.path)[1].exists()
    process.close()
    (tmp_path / "moved").rename(owner.path)
    assert texts_in(tmp_path) == ["one"]
    owner.release()


def test_file_system_without_locks_degrades_and_the_agent_goes_on(
    start: Start,
    loop: VirtualLoop,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def no_locks(descriptor: int, operation: int) -> None:
        del descriptor, operation
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    process = start()
    with caplog.at_level(logging.ERROR):
        assert say(process, "one", "two") == [ReceiptStatus.ACCEPTED] * 2
        rest(loop)
    assert process.desk.service.stored == ["one", "two"]
    assert process.counts.snapshot()[Gauge.OUTBOX_DEGRADED][(PROVIDER,)] == 1
    (said,) = [
        record.message for record in caplog.records if "cannot be written to" in record.message
    ]
    assert os.strerror(errno.ENOLCK) in said
    process.close()


def test_damaged_file_that_cannot_be_put_aside_is_held_no_longer(tmp_path: Path) -> None:
    folder = tmp_path / "outbox"
    folder.mkdir()
    file = OutboxFile.create(folder)
    put(file, "one")
    folder.rename(tmp_path / "elsewhere")
    assert not file.is_in_place()
    with pytest.raises(FileNotFoundError):
        file.set_aside()
    file.release()
    moved = OutboxFile.take(tmp_path / "elsewhere" / file.path.name)
    assert moved is not None
    moved.release()


def test_directory_that_may_not_be_looked_into_has_its_files_still(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    place = place_of(path)
    assert not is_gone(path, place)
    round_and_round = tmp_path / "round"
    round_and_round.symlink_to(round_and_round)
    assert not is_gone(round_and_round / "file", place)
    assert is_gone(path / "below a file", place)
    assert is_gone(tmp_path / "missing", place)


def test_directory_that_may_not_be_read_is_an_error_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    for action in (["status"], ["list"], ["resend"], ["purge", "--all"]):
        assert main([action[0], str(tmp_path), *action[1:]]) == 1
    assert capsys.readouterr().err.count("Permission denied") == 4


class Adopter:
    """A member that has a file of its own, and something to do amid each adoption. Nothing else is asked of it then."""

    account = "acc"
    provider = PROVIDER

    def __init__(self, file: OutboxFile, amid: Callable[[], object]) -> None:
        self.file, self.amid = file, amid

    def has_room(self) -> bool:
        return True

    def adopt(self, rows: Sequence[Row]) -> Sequence[Row]:
        self.amid()
        self.file.adopt(rows)
        return rows

    def adopt_dead(self, letters: Sequence[DeadRow]) -> Sequence[DeadRow]:
        self.amid()
        return self.file.add_dead(letters, 10)

    def tend(self) -> None:
        raise NotImplementedError

    def strays(self, file: OutboxFile) -> Sequence[int]:
        raise NotImplementedError

    def damaged(self, name: str) -> None:
        raise NotImplementedError

    def newer(self, name: str) -> None:
        raise NotImplementedError

    def unreadable(self, writes: int) -> None:
        raise NotImplementedError


@pytest.mark.usefixtures("impatient")
def test_purge_amid_an_adoption_brings_nothing_back(tmp_path: Path) -> None:
    orphan = OutboxFile.create(tmp_path)
    put(orphan, "one", "two")
    bury(orphan, "rejected")
    orphan.release()
    amid: list[Purged] = []
    folder = tmp_path / "ours"
    folder.mkdir()
    own = OutboxFile.create(folder)
    member = Adopter(own, lambda: amid.append(outside.purge(tmp_path, Selection(user="ada"))))

    Visit({"acc": member}, 1e9, 1e9, set()).file(orphan.path)

    assert amid == [Purged(), Purged()]
    assert outside.purge(folder, Selection(user="ada")) == Purged(waiting=2, dead=1)
    assert outbox_files(tmp_path) == []
    own.release()


@pytest.mark.usefixtures("impatient")
def test_purge_says_that_words_may_be_left_where_somebody_reads_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = OutboxFile.create(tmp_path)
    put(file, "secret words")
    with closing(sqlite3.connect(file.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM writes").fetchall()
        assert main(["purge", str(tmp_path), "--user", "ada"]) == 1
        out, err = capsys.readouterr()
        assert "1 waiting writes" in out
        assert file.path.name in err
    put(file, "more secret words")
    assert outside.purge(tmp_path, Selection(user="ada")) == Purged(waiting=1)
    assert b"secret" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    file.release()


def test_letter_that_has_the_number_of_one_that_is_gone_stays(tmp_path: Path) -> None:
    file = OutboxFile.create(tmp_path)
    bury(file, "one")
    seen = file.dead("acc")
    assert outside.purge(tmp_path, Selection()) == Purged(dead=1)
    bury(file, "two")
    assert [each.number for each in file.dead("acc")] == [seen[0].number]
    file.forget_dead(seen)
    assert [each.write.turn.text for each in file.dead("acc")] == ["two"]
    file.release()


def test_letters_that_come_from_elsewhere_push_out_the_oldest_and_not_the_first(
    tmp_path: Path,
) -> None:
    ours, theirs = OutboxFile.create(tmp_path), OutboxFile.create(tmp_path)
    bury(ours, "today", "today too", died_at=2e9)
    bury(theirs, "last month", died_at=1e9)
    ours.add_dead(theirs.dead("acc"), 2)
    assert [each.write.turn.text for each in ours.dead("acc")] == ["today", "today too"]
    ours.release()
    theirs.release()


@pytest.mark.parametrize(
    "body",
    [
        b'{"user": ["a"], "session": "s", "speaker": "human", "text": "t", "adapter": "direct"}',
        b'{"user": "a", "session": "s", "speaker": "human", "text": 5, "adapter": "direct"}',
        b'{"user": "a", "session": "s", "speaker": "human", "text": null, "adapter": "direct"}',
        b'{"user": "a", "session": "s", "speaker": [], "text": "t", "adapter": "direct"}',
        b'{"user": "a", "session": "s", "speaker": "human", "text": "t", "adapter": "direct", "metadata": [1]}',
        b'{"user": "a", "session": "s", "speaker": "human", "text": "t", "adapter": "direct", "observer": {"a": 1}}',
    ],
)
def test_body_with_values_of_another_kind_is_no_write(body: bytes) -> None:
    with pytest.raises(ValueError, match="no write"):
        unpack(body, "acc", "key", 1.0)


@pytest.mark.parametrize("place", [4, 5, 6, 7])
def test_row_whose_numbers_are_none_is_no_row(place: int) -> None:
    values = list(values_of(Row(1, write(), PROVIDER, 100, LATER, 1e9)))
    assert row_of(tuple(values)).size_bytes == 100
    values[place] = "x"
    with pytest.raises(ValueError, match="numbers"):
        row_of(tuple(values))


def test_name_is_one_of_ours(tmp_path: Path) -> None:
    (tmp_path / new_name()).touch()
    assert len(outbox_files(tmp_path)) == 1
    assert not FileLock.is_held(outbox_files(tmp_path)[0])


def test_lock_that_somebody_removed_is_made_anew(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    owner = start(down)
    say(owner, "one")
    lock_path(owner.file.path).unlink()
    owner.look()
    assert FileLock.is_held(owner.file.path)
    other = start()
    other.look()
    assert other.path.stats().totals.adopted == 0
    rest(loop, 60.0)
    other.close()
    owner.close()
    assert texts_in(tmp_path) == ["one"]


def test_owner_whose_file_was_taken_leaves_it_and_goes_on(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    owner = start(down)
    say(owner, "one")
    lock_path(owner.file.path).unlink()
    taken = OutboxFile.take(owner.file.path)
    assert taken is not None
    owner.look()
    assert owner.file.path != taken.path
    assert outbox_files(tmp_path) == [taken.path, owner.file.path]
    assert FileLock.is_held(taken.path)
    say(owner, "two")
    taken.release()
    owner.close()

    after = start()
    after.look()
    rest(loop)
    assert sorted(after.desk.service.stored) == ["one", "two"]
    assert after.path.stats().totals.unaccounted == 0
    after.close()
    assert list(tmp_path.iterdir()) == []


def test_emptied_file_is_set_aside_with_its_log(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = start(down)
    say(process, "one")
    file = process.file.path
    log = parts_of(file)[1].read_bytes()
    process.crash()
    parts_of(file)[1].write_bytes(log)
    os.truncate(file, 0)
    assert main(["status", str(tmp_path)]) == 1
    assert "the file is empty" in capsys.readouterr().err

    after = start()
    after.look()
    after.close()
    (aside,) = tmp_path.glob("*.corrupt-*[0-9]")
    assert parts_of(aside)[1].read_bytes() == log


def test_rows_that_are_left_behind_are_moved_once_however_many_look(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    before = start(down)
    texts = [f"turn {number}" for number in range(50)]
    say(before, *texts)
    after = start(down, directory=before.directory)
    after.look()
    before.close()
    lookers = [threading.Thread(target=after.look) for _ in range(4)]
    for looker in lookers:
        looker.start()
    for looker in lookers:
        looker.join()
    assert sorted(texts_in(tmp_path)) == sorted(texts)
    assert after.path.stats().totals.adopted == 50
    after.close()


def test_rows_that_are_purged_while_they_are_moved_stay_gone(tmp_path: Path) -> None:
    file = OutboxFile.create(tmp_path)
    numbers = put(file, "one", "two", "three")
    assert outside.purge(tmp_path, Selection(keys=frozenset({"key of two"}))) == Purged(waiting=1)
    assert file.hand_over("acc", PROVIDER, numbers) == [numbers[0], numbers[2]]
    file.release()
    assert list(tmp_path.iterdir()) == []
