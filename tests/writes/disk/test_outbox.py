"""Writes that survive their process: adoption, faults of the disk, purges, quotas and dead letters over restarts."""

import asyncio
import logging
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from outbox_process import Process, Start
from scripted_service import OVER_QUOTA, STORED, Reply, turn, unavailable
from virtual_loop import VirtualLoop

from memotel.config import WritePolicy
from memotel.counts import Count, Gauge
from memotel.errors import InvalidRequestError
from memotel.outcomes import Adapter, DedupeKind, Provider, RefusalReason, Speaker, WriteOutcome
from memotel.values import ReceiptStatus, Write, WriteAnswer
from memotel.writes.disk import inspection as outside
from memotel.writes.disk.file import OutboxFile
from memotel.writes.disk.inspection import Purged, Selection
from memotel.writes.disk.schema import VERSION, outbox_files

PROVIDER = Provider.MEMORYSYNC


def down(write: Write, attempt: int) -> Reply:
    del write, attempt
    return unavailable()


def over_quota(write: Write, attempt: int) -> Reply:
    del write, attempt
    return OVER_QUOTA


def rejecting(write: Write, attempt: int) -> Reply:
    del write, attempt
    return InvalidRequestError("no", status_code=422)


def say(process: Process, *texts: str, session: str = "s") -> list[ReceiptStatus]:
    return [process.path.accept(turn(text, session), Adapter.DIRECT).status for text in texts]


def rest(loop: VirtualLoop, seconds: float = 1.0) -> None:
    loop.run_until_complete(asyncio.sleep(seconds))


def texts_in(folder: Path) -> list[str]:
    return [row.write.turn.text for path in outbox_files(folder) for row in outside.waiting(path)]


def stored(process: Process) -> list[str]:
    return process.desk.service.stored


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.__dict__["event"] for record in caplog.records]


def gauge(process: Process, name: Gauge) -> float:
    return process.counts.snapshot().get(name, {}).get((PROVIDER,), 0)


@pytest.mark.parametrize("is_crash", [True, False])
def test_next_process_delivers_what_an_ended_one_left_in_order_and_removes_its_file(
    start: Start, loop: VirtualLoop, tmp_path: Path, is_crash: bool
) -> None:
    first = start(down)
    say(first, "one", "two", "three")
    rest(loop)
    first.crash() if is_crash else first.close()
    assert texts_in(tmp_path) == ["one", "two", "three"]

    second = start()
    second.look()
    rest(loop)

    assert stored(second) == ["one", "two", "three"]
    totals = second.path.stats().totals
    assert (totals.adopted, totals.delivered, totals.unaccounted) == (3, 3, 0)
    assert second.counts.total(Count.ADOPTED, PROVIDER) == 3
    assert outbox_files(tmp_path) == [second.file.path]
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_close_hands_over_what_it_could_not_deliver_and_drops_nothing(
    start: Start, loop: VirtualLoop, caplog: pytest.LogCaptureFixture
) -> None:
    process = start(down)
    say(process, "one", "two")
    with caplog.at_level(logging.WARNING, "memotel"):
        report = loop.run_until_complete(process.path.aclose(1.0))

    assert (report.pending, report.failed) == (2, 0)
    totals = process.path.stats().totals
    assert (totals.handed_over, totals.pending, totals.unaccounted) == (2, 0, 0)
    assert process.counts.total(Count.HANDED_OVER, PROVIDER) == 2
    assert process.counts.total(Count.WRITES) == 0
    assert gauge(process, Gauge.OUTBOX_PENDING) == gauge(process, Gauge.OUTBOX_BYTES) == 0
    assert caplog.messages == []
    assert say(process, "three") == [ReceiptStatus.REFUSED]
    assert process.counts.total(Count.REFUSED, PROVIDER, RefusalReason.CLOSED) == 1


def test_answer_that_comes_after_close_changes_no_number(start: Start, loop: VirtualLoop) -> None:
    process = start()
    say(process, "one")
    rest(loop, 0.005)
    assert process.desk.service.in_flight == 1
    process.path.close(0.0)
    before = process.path.stats()

    rest(loop)

    assert process.path.stats().totals == before.totals
    again = start(lambda *_: WriteAnswer(WriteOutcome.DUPLICATE))
    again.look()
    rest(loop)
    assert again.desk.ended() == {WriteOutcome.DUPLICATE: 1}


def test_living_process_keeps_its_file_to_itself(start: Start, loop: VirtualLoop) -> None:
    first, second = start(down), start()
    say(first, "one")
    second.look()
    rest(loop)

    assert stored(second) == []
    assert first.pending() == 1


def test_adopted_key_is_recognised_when_its_words_come_again(
    start: Start, loop: VirtualLoop
) -> None:
    history = [(Speaker.HUMAN, "hello"), (Speaker.AI, "hi"), (Speaker.HUMAN, "one")]
    first = start(down)
    first.path.accept(turn("one"), Adapter.DIRECT, history)
    first.crash()
    second = start(down)
    second.look()

    receipt = second.path.accept(turn("one"), Adapter.DIRECT, history)

    assert receipt.status is ReceiptStatus.REDELIVERY
    assert second.path.stats().totals.pending == 1


def test_key_that_waits_in_the_file_is_not_accepted_again(start: Start, loop: VirtualLoop) -> None:
    process = start(down)
    receipt = process.path.accept(turn("one", speaker=Speaker.AI), Adapter.DIRECT)
    process.path._sightings.forget(receipt.key)  # as after a hundred thousand other keys

    again = process.path.accept(turn("one", speaker=Speaker.AI), Adapter.DIRECT)

    assert (again.status, again.key) == (ReceiptStatus.REDELIVERY, receipt.key)
    kind = DedupeKind.REDELIVERY
    assert process.counts.total(Count.DEDUPLICATED, PROVIDER, "direct", kind) == 1
    assert process.file.books()["account"].totals.accepted == 1


def test_doubled_row_of_a_crash_between_two_files_is_adopted_once(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    first = start(down)
    say(first, "one", "two")
    first.crash()
    orphan = OutboxFile.take(outbox_files(tmp_path)[0])
    assert orphan is not None
    adopter = start(down)
    adopter.file.adopt(orphan.rows("account")[0])  # and dies before it deletes them there
    orphan.release()
    adopter.crash()

    last = start()
    last.look()
    rest(loop)

    assert sorted(stored(last)) == ["one", "two"]
    assert last.path.stats().totals.adopted == 2
    last.close()
    assert list(tmp_path.iterdir()) == []


def test_adoption_takes_what_there_is_room_for_and_the_rest_later(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    first = start(down)
    say(first, *(f"text {index}" for index in range(10)))
    first.crash()
    second = start(most=3)

    second.look()
    assert second.pending() == 3
    assert len(texts_in(tmp_path)) == 10
    for _ in range(3):
        rest(loop)
        second.look()
    rest(loop)

    assert stored(second) == [f"text {index}" for index in range(10)]
    assert second.path.stats().totals.unaccounted == 0


def test_a_write_larger_than_the_outbox_is_adopted_alone_and_in_its_order(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    large = "word " * 1_000
    first = start(down)
    say(first, "one", large, "two", "three")
    first.crash()
    second = start(most_bytes=3_000)

    pending = []
    for _ in range(4):
        second.look()
        pending.append(second.pending())
        rest(loop)

    assert pending == [1, 1, 2, 0]
    assert stored(second) == ["one", large, "two", "three"]
    assert texts_in(tmp_path) == []
    assert second.path.stats().totals.unaccounted == 0


def test_writes_of_an_account_without_a_client_here_stay_and_are_counted(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    first = start(down, account="theirs")
    say(first, "not yours", "nor this")
    first.crash()
    second = start(account="ours")
    second.look()
    rest(loop)

    assert stored(second) == []
    assert second.directory._counts.snapshot()[Gauge.OUTBOX_FOREIGN] == {(PROVIDER,): 2}
    assert texts_in(tmp_path) == ["not yours", "nor this"]
    second.close()
    third = start(account="theirs")
    third.look()
    rest(loop)
    assert stored(third) == ["not yours", "nor this"]
    third.close()
    assert list(tmp_path.iterdir()) == []


def test_foreign_writes_past_their_time_do_not_lie_there_for_ever(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    first = start(down, account="theirs", policy=WritePolicy(max_age_s=100.0))
    say(first, "old words")
    first.crash()
    second = start(account="ours")
    rest(loop, 101.0)
    second.look()

    assert outbox_files(tmp_path) == [second.file.path]


def test_accounts_of_a_process_share_its_file_and_one_that_leaves_hands_over(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    one = start(down, account="one")
    two = start(account="two", directory=one.directory)
    say(one, "first")
    say(two, "second")
    assert len(outbox_files(tmp_path)) == 1
    rest(loop)

    one.close()

    assert stored(two) == ["second"]
    books = two.file.books()["one"].totals
    assert (books.accepted, books.handed_over, books.pending) == (1, 1, 0)
    other = start(account="one")
    other.look()
    rest(loop)
    assert stored(other) == ["first"]
    two.close()
    other.close()
    assert list(tmp_path.iterdir()) == []


def test_parked_writes_are_parked_after_a_restart_and_go_when_the_quota_returns(
    start: Start, loop: VirtualLoop
) -> None:
    first = start(over_quota)
    say(first, "one", "two", session="a")
    say(first, "three", session="b")
    rest(loop)
    assert first.path.stats().totals.parked == 3
    first.close()

    second = start()
    second.look()
    rest(loop)

    assert (second.path.stats().totals.parked, stored(second)) == (3, [])
    assert gauge(second, Gauge.OUTBOX_PARKED) == 3
    second.path.quota_returned()
    rest(loop)
    assert sorted(stored(second)) == ["one", "three", "two"]
    assert stored(second).index("one") < stored(second).index("two")
    assert gauge(second, Gauge.OUTBOX_PARKED) == 0


def test_parked_write_that_is_adopted_behind_others_of_its_scope_goes_with_them(
    start: Start, loop: VirtualLoop
) -> None:
    first = start(over_quota)
    say(first, "old")
    rest(loop)
    first.close()
    second = start()
    say(second, "new")
    second.look()
    rest(loop)

    assert stored(second) == ["new", "old"]
    assert second.path.stats().totals.unaccounted == 0


def test_no_more_parked_writes_are_adopted_than_may_be_parked(
    start: Start, loop: VirtualLoop
) -> None:
    first = start(over_quota)
    say(first, *(f"text {index}" for index in range(5)))
    rest(loop)
    first.close()
    second = start(most=4)
    second.look()

    assert second.path.stats().totals.parked == 2


def test_age_counts_over_restarts(start: Start, loop: VirtualLoop) -> None:
    policy = WritePolicy(max_age_s=100.0)
    first = start(down, policy=policy)
    say(first, "old", session="a")
    rest(loop, 60.0)
    first.crash()
    second = start(down, policy=policy)
    say(second, "young", session="b")
    second.look()
    assert gauge(second, Gauge.OUTBOX_OLDEST_AGE) == 60.0
    rest(loop, 50.0)
    second.look()

    assert second.desk.ended() == {WriteOutcome.EXPIRED: 1}
    assert second.pending() == 1
    rest(loop, 60.0)
    assert second.desk.ended() == {WriteOutcome.EXPIRED: 2}


def test_dead_letters_survive_and_come_along(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    first = start(rejecting)
    say(first, "one", "two")
    rest(loop)
    assert first.path.stats().dead_letters == 2
    first.close()
    assert first.path.stats().dead_letters == 2

    for _ in range(2):  # a file may hold nothing but letters
        second = start()
        second.look()
        second.close()
    second = start()
    second.look()

    assert outbox_files(tmp_path) == [second.file.path]
    letters = second.path.dead_letters()
    assert [(each.write.turn.text, each.cause) for each in letters] == [
        ("one", "status 422"),
        ("two", "status 422"),
    ]
    rest(loop, 31 * 86_400.0)
    assert second.path.dead_letters() == []
    second.look()
    second.close()
    assert list(tmp_path.iterdir()) == []


def test_dead_letters_that_are_sent_again_are_adopted_and_delivered(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    process = start(rejecting)
    say(process, "one")
    rest(loop)
    process.desk.service.script = lambda *_: STORED

    assert outside.resend(tmp_path, Selection(), now=loop.time()) == 1
    process.look()
    rest(loop)

    assert stored(process) == ["one"]
    assert process.path.stats().dead_letters == 0
    assert process.path.stats().totals.unaccounted == 0


def test_purged_write_is_not_sent_and_may_be_said_again(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    process = start()
    history = [(Speaker.HUMAN, "secret")]
    process.path.accept(turn("secret"), Adapter.DIRECT, history)
    say(process, "public", session="other")

    gone = outside.purge(tmp_path, Selection(session="s"))
    rest(loop)

    assert gone == Purged(waiting=1)
    assert process.desk.service.sent == ["public"]
    assert process.desk.ended() == {WriteOutcome.STORED: 1, WriteOutcome.DROPPED: 1}
    in_file = process.file.books()["account"].totals
    assert in_file.ended == process.path.stats().totals.ended
    again = process.path.accept(turn("secret"), Adapter.DIRECT, history)
    assert again.status is ReceiptStatus.ACCEPTED
    rest(loop)
    assert process.desk.service.sent == ["public", "secret"]


def test_purge_of_writes_that_wait_is_noticed_at_the_next_look(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    process = start(over_quota)
    say(process, "one", "two")
    rest(loop)
    outside.purge(tmp_path, Selection())

    process.look()

    assert process.desk.ended() == {WriteOutcome.DROPPED: 2}
    assert gauge(process, Gauge.OUTBOX_PARKED) == gauge(process, Gauge.OUTBOX_PENDING) == 0
    process.path.quota_returned()
    rest(loop, 1_000.0)
    assert len(process.desk.service.sent) == 1


def test_purge_of_a_write_in_flight_leaves_books_that_say_what_happened(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    process = start()
    say(process, "one")
    rest(loop, 0.005)
    assert process.desk.service.in_flight == 1
    outside.purge(tmp_path, Selection())
    rest(loop)

    assert process.desk.ended() == {WriteOutcome.STORED: 1}
    assert process.file.books()["account"].totals.ended[WriteOutcome.STORED] == 1
    assert process.file.books()["account"].totals.unaccounted == 0


def fill(process: Process) -> None:
    """Let the disk be full: the file may not grow any more."""
    (pages,) = process.file._db.execute("PRAGMA page_count").fetchone()
    process.file._db.execute(f"PRAGMA max_page_count = {pages}")


def make_room(process: Process) -> None:
    process.file._db.execute("PRAGMA max_page_count = 1000000")


def test_full_disk_degrades_to_memory_says_so_once_and_comes_back_by_itself(
    start: Start, loop: VirtualLoop, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    process = start(down)
    say(process, "kept")
    fill(process)
    with caplog.at_level(logging.INFO, "memotel"):
        statuses = say(process, *("x" * 10_000 + str(index) for index in range(3)))

    assert statuses == [ReceiptStatus.ACCEPTED] * 3
    assert events(caplog) == ["outbox.degraded"]
    assert caplog.records[0].levelno == logging.ERROR
    assert "SQLITE_FULL" in caplog.text
    assert gauge(process, Gauge.OUTBOX_DEGRADED) == 1
    assert process.path.stats().totals.unaccounted == 0
    assert texts_in(tmp_path) == ["kept"]

    process.look()
    assert gauge(process, Gauge.OUTBOX_DEGRADED) == 1
    make_room(process)
    process.look()

    assert gauge(process, Gauge.OUTBOX_DEGRADED) == 0
    assert len(texts_in(tmp_path)) == 4
    assert process.file.books()["account"].totals.accepted == 4
    process.crash()
    second = start()
    second.look()
    rest(loop)
    assert len(stored(second)) == 4


def test_what_ends_while_the_disk_fails_is_counted_when_it_works(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    def script(write: Write, attempt: int) -> Reply:
        rejects = write.turn.text.endswith("rejected")
        return InvalidRequestError("no", status_code=422) if rejects else STORED

    process = start(script)
    say(process, "kept, rejected", "kept, stored")
    fill(process)
    say(process, "x" * 10_000, "in memory, rejected", "in memory, stored")
    rest(loop)
    assert process.pending() == 0
    assert len(texts_in(tmp_path)) == 2

    make_room(process)
    process.look()

    totals, in_file = process.path.stats().totals, process.file.books()["account"].totals
    assert (in_file.ended, in_file.accepted, in_file.pending) == (totals.ended, 5, 0)
    assert {each.write.turn.text for each in process.path.dead_letters()} == {
        "kept, rejected",
        "in memory, rejected",
    }
    assert process.path.stats().dead_letters == 2


def test_close_while_the_disk_fails_drops_what_it_could_not_keep_and_says_why(
    start: Start, loop: VirtualLoop, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    process = start(down)
    say(process, "kept")
    fill(process)
    say(process, "x" * 10_000)
    with caplog.at_level(logging.WARNING, "memotel"):
        report = loop.run_until_complete(process.path.aclose(0.0))

    assert (report.pending, report.failed) == (1, 1)
    assert process.desk.ended() == {WriteOutcome.DROPPED: 1}
    assert events(caplog) == ["outbox.degraded", "writes.dropped"]
    assert "the disk of the outbox fails" in caplog.text
    assert texts_in(tmp_path) == ["kept"]


def test_directory_that_cannot_be_made_degrades_and_the_agent_goes_on(
    start: Start, loop: VirtualLoop, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "outbox"
    place.touch()
    process = Process(place, loop)
    assert say(process, "one") == [ReceiptStatus.ACCEPTED]
    rest(loop)
    assert stored(process) == ["one"]
    assert events(caplog) == ["outbox.degraded"]

    place.unlink()
    process.look()
    assert process.file.books()["account"].totals.ended[WriteOutcome.STORED] == 1
    process.close()


def test_file_that_was_removed_is_replaced_and_has_what_waits(
    start: Start, loop: VirtualLoop, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    process = start(down)
    say(process, "one", "two")
    before = process.file.path
    shutil.rmtree(tmp_path)

    process.look()

    assert process.file.path != before
    assert texts_in(tmp_path) == ["one", "two"]
    assert "outbox.damaged" in events(caplog)
    assert process.counts.total(Count.OUTBOX_DAMAGED, PROVIDER) == 1
    process.desk.service.script = lambda *_: STORED
    rest(loop, 400.0)
    assert stored(process) == ["one", "two"]
    in_file = process.file.books()["account"].totals
    assert (in_file.accepted, in_file.ended[WriteOutcome.STORED], in_file.unaccounted) == (2, 2, 0)


def test_file_that_turns_out_damaged_is_set_aside_and_a_fresh_one_has_what_waits(
    start: Start, loop: VirtualLoop, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    process = start(down)
    say(process, *(f"text {index}" * 100 for index in range(100)))
    process.file._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(process.file.path.read_bytes())
    content[4_096:] = b"\xff" * (len(content) - 4_096)
    process.file.path.write_bytes(content)
    process.file._db.execute("PRAGMA shrink_memory")

    for index in range(5):
        say(process, f"more {index}")
    process.look()

    assert "outbox.damaged" in events(caplog)
    assert len(list(tmp_path.glob("*.corrupt-*"))) == 1
    assert len(texts_in(tmp_path)) == 105
    assert process.path.stats().totals.unaccounted == 0


def test_damaged_file_of_another_is_set_aside_and_the_rest_adopted(
    start: Start, loop: VirtualLoop, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for text in ("lost", "kept"):
        process = start(down)
        say(process, text)
        process.crash()
    damaged, _ = outbox_files(tmp_path)
    damaged.write_bytes(b"no database at all" * 1_000)
    second = start()

    second.look()
    rest(loop)

    assert stored(second) == ["kept"]
    assert events(caplog).count("outbox.damaged") == 1
    assert second.counts.total(Count.OUTBOX_DAMAGED, PROVIDER) == 1
    (aside,) = tmp_path.glob("*.corrupt-*")
    assert aside.name.startswith(damaged.name)
    assert outbox_files(tmp_path) == [second.file.path]


def test_newer_file_is_left_alone_with_one_line(
    start: Start, loop: VirtualLoop, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = start(down)
    say(first, "from the future")
    path = first.file.path
    first.crash()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    second = start()
    for _ in range(3):
        second.look()
    rest(loop)

    assert stored(second) == []
    assert events(caplog) == ["outbox.newer"]
    assert path in outbox_files(tmp_path)


def test_row_that_cannot_be_read_is_dropped_and_the_others_delivered(
    start: Start, loop: VirtualLoop, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = start(down)
    say(first, "one", "two")
    first.file._db.execute("UPDATE writes SET body = 'garbled' WHERE number = 1")
    first.crash()
    second = start()
    second.look()
    rest(loop)

    assert stored(second) == ["two"]
    assert "could not be read" in caplog.text
    assert outbox_files(tmp_path) == [second.file.path]


def test_adoption_is_said_once_a_minute(
    start: Start, loop: VirtualLoop, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "memotel"):
        last = start()
        for text in ("one", "two"):
            process = start(down)
            say(process, text)
            process.crash()
            last.look()

    assert events(caplog) == ["outbox.adopted"]
    assert caplog.records[0].levelno == logging.INFO


def test_lock_whose_file_is_gone_is_removed(
    start: Start, loop: VirtualLoop, tmp_path: Path
) -> None:
    stale = tmp_path / "outbox-01700000000000000000-0badf11e.db.lock"
    stale.touch()
    process = start()
    process.look()

    assert not stale.exists()
    process.close()
    assert list(tmp_path.iterdir()) == []


def test_refused_write_of_a_full_outbox_is_in_the_files_books(
    start: Start, loop: VirtualLoop
) -> None:
    process = start(down, most=1)
    say(process, "one", "two", "three")
    process.look()

    in_file, totals = process.file.books()["account"].totals, process.path.stats().totals
    assert (in_file.accepted, in_file.ended) == (totals.accepted, totals.ended)
    assert in_file.ended[WriteOutcome.DROPPED] == 2
    assert in_file.unaccounted == 0
