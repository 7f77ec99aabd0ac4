"""One outbox file: what a row keeps, what each move counts, and what may be done to the file from outside."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotel.outcomes import Adapter, Provider, Speaker, WriteOutcome
from memotel.values import Scope, Turn, Write
from memotel.writes.disk import inspection as outside
from memotel.writes.disk.file import CHECKPOINT_AFTER, OutboxFile
from memotel.writes.disk.filelock import FileLock, lock_path
from memotel.writes.disk.inspection import Purged, Selection
from memotel.writes.disk.rows import Row, pack, unpack
from memotel.writes.disk.schema import (
    VERSION,
    NewerFileError,
    connect,
    is_corrupt,
    outbox_files,
    parts_of,
)

REKALL = Provider.REKALL
LATER = 2e9


def write(
    text: str = "hello", *, account: str = "acc", user: str = "ada", at: float = 1e9
) -> Write:
    turn = Turn(Scope(user, "s"), Speaker.HUMAN, text, source="test")
    return Write(turn, f"key of {text}", account, at, Adapter.DIRECT)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[OutboxFile]:
    made = OutboxFile.create(tmp_path)
    yield made
    if made.path.exists():
        made.release()


def put(file: OutboxFile, *texts: str, **given: str) -> list[int]:
    return [file.put(write(text, **given), REKALL, 100, LATER) for text in texts]  # type: ignore[arg-type] # account, user


def books(file: OutboxFile, account: str = "acc") -> dict[str, int]:
    found = file.books()[account]
    totals = found.totals
    assert totals.unaccounted == 0
    moves = {
        "accepted": totals.accepted,
        "adopted": totals.adopted,
        "resent": totals.resent,
        "handed_over": totals.handed_over,
        "pending": totals.pending,
        "parked": totals.parked,
        "dead": found.dead,
        **{outcome.value: number for outcome, number in totals.ended.items()},
    }
    return {name: number for name, number in moves.items() if number}


TEXTS = st.text(st.characters(exclude_categories=()), max_size=30)


@given(text=TEXTS, user=TEXTS, name=st.none() | TEXTS, meta=st.dictionaries(TEXTS, TEXTS))
def test_row_keeps_a_write_exactly(
    text: str, user: str, name: str | None, meta: dict[str, str]
) -> None:
    turn = Turn(
        Scope(user, text),
        Speaker.AI,
        text,
        speaker_name=name,
        message_id=name,
        observer=user,
        said_at="2026-01-01T00:00:00Z",
        source="test",
        metadata=meta,
    )
    kept = Write(turn, "k", "acc", 12.5, Adapter.AUTOGEN, occurrence=3, trace=name)

    assert unpack(pack(kept), "acc", "k", 12.5) == kept


def test_row_keeps_metadata_that_json_does_not_know() -> None:
    turn = Turn(Scope(), Speaker.HUMAN, "x", metadata={"when": object(), "n": [1, 2.5, None]})  # type: ignore[dict-item] # what a caller may do

    kept = unpack(pack(Write(turn, "k", "acc", 1.0, Adapter.DIRECT)), "acc", "k", 1.0)

    assert kept.turn.metadata["n"] == [1, 2.5, None]


def test_row_of_a_later_version_reads_with_the_nearest_words() -> None:
    body = pack(write()).replace(b'"human"', b'"robot"').replace(b'"direct"', b'"ag7"')

    kept = unpack(body, "acc", "k", 1.0)

    assert (kept.turn.speaker, kept.adapter) == (Speaker.OTHER, Adapter.DIRECT)


@pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b"{}", b"1"])
def test_body_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        unpack(body, "acc", "k", 1.0)


def test_file_and_lock_are_readable_by_their_user_alone(file: OutboxFile) -> None:
    put(file, "one")

    parts = [*parts_of(file.path), lock_path(file.path)]

    assert [stat.S_IMODE(part.stat().st_mode) for part in parts] == [0o600] * 4


def test_accepted_write_is_there_after_a_crash(file: OutboxFile, tmp_path: Path) -> None:
    put(file, "one", "two")

    # What another process sees now is what a crash would leave: no commit is outstanding.
    assert [row.write.turn.text for row in outside.waiting(file.path)] == ["one", "two"]


def test_key_waits_once_for_each_account(file: OutboxFile) -> None:
    first, second = put(file, "one")[0], put(file, "one", account="other")[0]

    assert (first > 0, second > 0) == (True, True)
    assert put(file, "one") == [0]
    assert books(file) == {"accepted": 1, "pending": 1}


def test_each_end_is_counted(file: OutboxFile) -> None:
    numbers = put(file, *(outcome.value for outcome in WriteOutcome))
    for number, outcome in zip(numbers, WriteOutcome, strict=True):
        file.end(number, "acc", REKALL, outcome)

    assert books(file) == {"accepted": 7, **{outcome.value: 1 for outcome in WriteOutcome}}


def test_adoption_takes_each_key_once_and_the_rest_is_handed_over(
    file: OutboxFile, tmp_path: Path
) -> None:
    orphan = OutboxFile.create(tmp_path)
    put(orphan, "one", "two", "three")
    put(file, "two")
    rows, unreadable = orphan.rows("acc")

    taken = file.adopt(rows)
    handed = orphan.hand_over("acc", REKALL, [row.number for row in rows])

    assert [row.write.turn.text for row in taken] == ["one", "three"]
    assert (handed, unreadable) == ([row.number for row in rows], [])
    assert books(file) == {"accepted": 1, "adopted": 2, "pending": 3}
    assert books(orphan) == {"accepted": 3, "handed_over": 3}
    orphan.release()
    assert outbox_files(tmp_path) == [file.path]


def test_rejected_write_becomes_a_dead_letter_and_the_newest_stay(file: OutboxFile) -> None:
    for index, number in enumerate(put(file, "one", "two", "three")):
        file.bury(number, "acc", REKALL, cause="status 422", died_at=100.0 + index, most=2)

    assert books(file) == {"accepted": 3, "rejected": 3, "dead": 2}
    assert [dead.write.turn.text for dead in file.dead("acc")] == ["two", "three"]
    file.prune(now=150.0, dead_max_age_s=48.5)
    assert [dead.letter.died_at for dead in file.dead("acc")] == [102.0]


def test_parked_row_says_so(file: OutboxFile) -> None:
    one, two = put(file, "one", "two")
    file.mark([(50.0, LATER + 1, one), (60.0, LATER + 2, two)])
    file.mark([(None, LATER + 3, two)])

    rows, _ = file.rows("acc")

    assert [(row.parked_at, row.expires_at) for row in rows] == [
        (50.0, LATER + 1),
        (None, LATER + 3),
    ]
    assert books(file) == {"accepted": 2, "pending": 2, "parked": 1}


def test_rows_past_their_time_are_ended_whoever_they_belong_to(file: OutboxFile) -> None:
    one, two, _ = put(file, "one", "two", "three")
    file.mark([(None, 100.0, one), (50.0, 100.0, two)])

    assert file.expire(now=101.0) == 2
    assert books(file) == {"accepted": 3, "expired": 1, "quota": 1, "pending": 1}


def test_failed_transaction_changes_nothing(file: OutboxFile) -> None:
    put(file, "one")
    file._db.execute("PRAGMA max_page_count = 1")

    with pytest.raises(sqlite3.OperationalError, match="full"):
        put(file, "x" * 100_000)

    file._db.execute("PRAGMA max_page_count = 1000000")
    put(file, "two")
    assert books(file) == {"accepted": 2, "pending": 2}


def test_owner_that_lives_keeps_others_out(file: OutboxFile) -> None:
    put(file, "one")

    assert OutboxFile.take(file.path) is None
    assert FileLock.is_held(file.path)
    file.release()
    assert not FileLock.is_held(file.path)
    taken = OutboxFile.take(file.path)
    assert taken is not None
    taken.release()


def test_released_file_goes_where_it_is_empty_and_stays_where_it_is_not(tmp_path: Path) -> None:
    for outcome in (WriteOutcome.STORED, WriteOutcome.REJECTED):
        file = OutboxFile.create(tmp_path)
        (number,) = put(file, "one")
        if outcome is WriteOutcome.REJECTED:
            file.bury(number, "acc", REKALL, cause="no", died_at=1.0, most=10)
        else:
            file.end(number, "acc", REKALL, outcome)
        file.release()

    (left,) = outbox_files(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [left.name, f"{left.name}.lock"]


def test_removed_lock_is_no_lock(file: OutboxFile, tmp_path: Path) -> None:
    """One that opened the lock just before its owner removed it must not believe that it holds the file."""
    place = lock_path(file.path)
    opened = os.open(place, os.O_RDWR)
    file.release()
    late = FileLock(place, os.dup(opened))

    assert not place.exists()
    assert OutboxFile.take(file.path) is None
    assert list(tmp_path.iterdir()) == []
    late.release()
    os.close(opened)


def test_newer_file_is_left_alone(file: OutboxFile) -> None:
    put(file, "one")
    file._db.execute(f"PRAGMA user_version = {VERSION + 1}")
    file.release()

    with pytest.raises(NewerFileError):
        OutboxFile.take(file.path)
    seen = outside.inspect(file.path)
    assert seen.problem is not None
    assert "version" in seen.problem
    assert outside.purge(file.path.parent, Selection()) == Purged()
    assert outbox_files(file.path.parent) == [file.path]


@pytest.mark.parametrize("damage", [b"no database at all, but long enough to be one" * 100, b"\0"])
def test_damaged_file_is_recognised(tmp_path: Path, damage: bytes) -> None:
    file = OutboxFile.create(tmp_path)
    put(file, *(f"text {index}" * 50 for index in range(100)))
    file.tidy()
    file.release()
    if damage == b"\0":
        content = bytearray(file.path.read_bytes())
        content[5_000:40_000] = bytes(35_000)
        file.path.write_bytes(content)
    else:
        file.path.write_bytes(damage)

    with pytest.raises(sqlite3.DatabaseError) as caught:
        _look_through(file.path)

    assert is_corrupt(caught.value)
    assert not FileLock.is_held(file.path)


def _look_through(path: Path) -> None:
    taken = OutboxFile.take(path)
    assert taken is not None
    try:
        taken.check()
    finally:
        taken.release()


def test_file_that_was_never_finished_is_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "outbox-1.db"
    path.touch(0o600)

    taken = OutboxFile.take(path)

    assert taken is not None
    assert taken.books() == {}
    taken.release()
    assert list(tmp_path.iterdir()) == []


def test_inspection_says_what_a_living_file_holds(file: OutboxFile) -> None:
    put(file, "one", "two")
    put(file, "three", account="other")

    seen = outside.inspect(file.path)

    assert (seen.is_owned, seen.problem, seen.origin["pid"]) == (True, None, str(os.getpid()))
    assert {name: each.totals.pending for name, each in seen.accounts.items()} == {
        "acc": 2,
        "other": 1,
    }
    assert seen.accounts["acc"].oldest_accepted_at == 1e9


@pytest.mark.parametrize("lives", [True, False])
def test_purge_takes_what_is_meant_and_counts_it_dropped(
    file: OutboxFile, tmp_path: Path, lives: bool
) -> None:
    put(file, "hers")
    put(file, "his", user="bob")
    (number,) = put(file, "her dead letter")
    file.bury(number, "acc", REKALL, cause="no", died_at=1.0, most=10)
    if not lives:
        file.release()

    gone = outside.purge(tmp_path, Selection(user="ada"))

    assert gone == Purged(waiting=1, dead=1)
    (left,) = outside.waiting(file.path)
    assert left.write.turn.text == "his"
    totals = outside.inspect(file.path).accounts["acc"].totals
    assert (totals.ended[WriteOutcome.DROPPED], totals.unaccounted) == (1, 0)


@pytest.mark.parametrize(
    ("selection", "left"),
    [
        (Selection(session="s"), []),
        (Selection(session="t"), ["old", "new"]),
        (Selection(account="acc", older_than_s=50.0), ["new"]),
        (Selection(account="nobody"), ["old", "new"]),
        (Selection(keys=frozenset({"key of new"})), ["old"]),
    ],
)
def test_selection_means_what_fits_all_that_is_given(
    file: OutboxFile, tmp_path: Path, selection: Selection, left: list[str]
) -> None:
    file.put(write("old", at=900.0), REKALL, 1, LATER)
    file.put(write("new", at=990.0), REKALL, 1, LATER)

    outside.purge(tmp_path, selection, now=1_000.0)

    assert [row.write.turn.text for row in outside.waiting(file.path)] == left


def test_purged_words_are_not_left_on_disk(file: OutboxFile, tmp_path: Path) -> None:
    put(file, "a word that nobody must find")

    outside.purge(tmp_path, Selection())

    found = b"".join(part.read_bytes() for part in parts_of(file.path) if part.exists())
    assert b"nobody must find" not in found


def test_owner_notices_that_another_has_changed_its_file(file: OutboxFile, tmp_path: Path) -> None:
    before = file.version()
    one, two = put(file, "one", "two")
    assert file.version() == before

    outside.purge(tmp_path, Selection(keys=frozenset({"key of one"})))

    assert file.version() != before
    assert file.numbers("acc") == {two}
    file.end(one, "acc", REKALL, WriteOutcome.STORED)
    assert books(file) == {"accepted": 2, "stored": 1, "pending": 1}


def test_resent_letters_go_to_a_file_that_anyone_may_adopt(
    file: OutboxFile, tmp_path: Path
) -> None:
    for text in ("one", "two"):
        (number,) = put(file, text)
        file.bury(number, "acc", REKALL, cause="no", died_at=1.0, most=10)

    assert outside.resend(tmp_path, Selection(), max_age_s=60.0, now=1_000.0) == 2

    (path,) = [each for each in outbox_files(tmp_path) if each != file.path]
    assert not FileLock.is_held(path)
    rows = outside.waiting(path)
    assert [(row.write.turn.text, row.expires_at) for row in rows] == [
        ("one", 1_060.0),
        ("two", 1_060.0),
    ]
    totals = outside.inspect(path).accounts["acc"].totals
    assert (totals.resent, totals.pending, totals.unaccounted) == (2, 2, 0)
    assert outside.dead_letters(file.path) == []


def test_connection_waits_for_nobody_longer_than_a_second(file: OutboxFile) -> None:
    other = connect(file.path)
    assert other.execute("PRAGMA busy_timeout").fetchone() == (1_000,)
    other.close()


def test_tidied_file_keeps_nothing_of_what_was_delivered(file: OutboxFile) -> None:
    (number,) = put(file, "a word that was delivered")
    file.end(number, "acc", REKALL, WriteOutcome.STORED)

    file.tidy()

    found = b"".join(part.read_bytes() for part in parts_of(file.path) if part.exists())
    assert b"was delivered" not in found


def test_file_whose_directory_was_removed_is_not_in_place(file: OutboxFile) -> None:
    assert file.is_in_place()
    file.path.unlink()
    assert not file.is_in_place()
    assert Row(1, write(), REKALL, 1, LATER).parked_at is None


def test_log_is_moved_into_the_file_by_whoever_looks_after_it(file: OutboxFile) -> None:
    grown: list[bool] = []
    file.on_growth = lambda: grown.append(True)
    before = file.version()
    log = parts_of(file.path)[1]
    for index in range(3 * CHECKPOINT_AFTER):
        put(file, f"text {index}")
        file.checkpoint()

    assert len(grown) == 3
    assert file.version() == before  # it is no change by another
    size = log.stat().st_size
    for index in range(CHECKPOINT_AFTER):
        put(file, f"more {index}")
    assert log.stat().st_size < 1.5 * size  # four rounds, but the log has begun anew with each
    assert books(file)["pending"] == 4 * CHECKPOINT_AFTER


def test_closed_file_is_not_opened_again_for_its_log(file: OutboxFile, tmp_path: Path) -> None:
    for index in range(CHECKPOINT_AFTER):
        file.end(put(file, f"text {index}")[0], "acc", REKALL, WriteOutcome.STORED)
    file.release()
    file.checkpoint()

    assert list(tmp_path.iterdir()) == []
