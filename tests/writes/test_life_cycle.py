"""Accepting, flushing and closing from threads and loops, over a real background loop."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest
from scripted_service import STORED, turn, unavailable

from memotel.calls import Call
from memotel.config import OutboxPolicy, WritePolicy
from memotel.counts import Count, Counts, Gauge
from memotel.errors import InvalidRequestError, MemotelError, OutboxFullError
from memotel.outcomes import Adapter, Provider, RefusalReason, Speaker, WriteOutcome
from memotel.runtime import BackgroundLoop
from memotel.values import FlushReport, ReceiptStatus, Write, WriteAnswer
from memotel.writes.path import WritePath

PROMPT_S = 2.0
"""Far above what anything here takes, far below what a wait by mistake would: the machine may be busy."""


class Service:
    """Answers at once, or, where it holds, when it is told to go on: for one text, or for all."""

    def __init__(self) -> None:
        self.holds = False
        self.is_held = threading.Event()
        self.error: Exception | None = None
        self.stored: list[str] = []
        self._held: dict[str, asyncio.Event] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, call: Call) -> WriteAnswer:
        text = cast("Write", call.request).turn.text
        self._loop = asyncio.get_running_loop()
        if self.holds:
            event = self._held[text] = asyncio.Event()
            self.is_held.set()
            await event.wait()
        if self.error is not None:
            raise self.error
        self.stored.append(text)
        return STORED

    def release(self, *texts: str) -> None:
        """Go on with these, or with all and what comes."""
        self.holds = self.holds and bool(texts)
        for text in texts or list(self._held):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._held[text].set)


Made = tuple[WritePath, Service, BackgroundLoop]
Make = Callable[..., Made]


@pytest.fixture
def counts() -> Counts:
    return Counts()


@pytest.fixture
def make(counts: Counts) -> Iterator[Make]:
    made: list[Made] = []

    def build(**options: object) -> Made:
        service, loop = Service(), BackgroundLoop()
        settings = {"policy": WritePolicy(), "outbox_policy": OutboxPolicy(), **options}
        path = WritePath(
            "account",
            Provider.REKALL,
            counts=counts,
            loop=loop,
            send=service,
            drains_at_exit=False,
            **settings,  # type: ignore[arg-type] # further arguments of WritePath
        )
        made.append((path, service, loop))
        return made[-1]

    yield build
    for path, service, loop in made:
        service.release()
        path.close(0)
        if loop.is_started:
            _end(loop)


def _end(loop: BackgroundLoop) -> None:
    running = loop.start()
    loop.run(_turns(), PROMPT_S)
    running.call_soon_threadsafe(running.stop)
    assert loop._thread is not None
    loop._thread.join(PROMPT_S)
    running.close()


async def _turns() -> None:
    """Let released sends run to their end: each needs a turn of the loop or two."""
    for _ in range(5):
        await asyncio.sleep(0)


def say(path: WritePath, text: str, session: str = "s") -> ReceiptStatus:
    return path.accept(turn(text, session), Adapter.DIRECT).status


def test_nothing_starts_before_the_first_accepted_write(make: Make) -> None:
    path, _, loop = make()
    assert path.flush(1) == FlushReport(delivered=0, pending=0, failed=0)
    path.quota_returned()
    path.wake()
    path.close(1)
    assert not loop.is_started


def test_accept_returns_while_the_service_hangs(make: Make) -> None:
    path, service, _ = make()
    service.holds = True
    began = time.monotonic()
    for index in range(1_000):
        say(path, f"text {index}", str(index % 20))
    assert time.monotonic() - began < PROMPT_S
    assert path.stats().totals.pending == 1_000


def test_flush_waits_for_what_was_accepted_and_reports(make: Make) -> None:
    path, service, _ = make()
    for index in range(50):
        say(path, f"text {index}")
    report = path.flush(30)
    assert (report.pending, report.failed) == (0, 0)
    assert path.stats().totals.delivered == 50
    assert service.stored == [f"text {index}" for index in range(50)]


def test_flush_returns_in_time_while_the_service_hangs(make: Make) -> None:
    path, service, _ = make()
    service.holds = True
    say(path, "one")
    began = time.monotonic()
    assert path.flush(0.1) == FlushReport(delivered=0, pending=1, failed=0)
    assert 0.1 <= time.monotonic() - began < PROMPT_S


def test_flush_returns_at_once_when_nothing_can_happen_in_time(make: Make) -> None:
    path, service, _ = make(policy=WritePolicy(backoff_initial_s=300), rng=lambda: 1.0)
    service.error = unavailable(503, retry_after_s=60)
    say(path, "one")
    began = time.monotonic()
    assert path.flush(30).pending == 1
    assert time.monotonic() - began < PROMPT_S


def test_flush_retries_no_harder_than_the_policy_allows(make: Make) -> None:
    path, service, _ = make(policy=WritePolicy(backoff_initial_s=300), rng=lambda: 1.0)
    service.error = unavailable()
    say(path, "one")
    path.flush(1)
    service.error = None
    for _ in range(20):
        assert path.flush(0.5).pending == 1
    assert service.stored == []


def test_flush_does_not_wait_for_what_is_accepted_after_it_began(make: Make) -> None:
    path, service, _ = make()
    service.holds = True
    say(path, "before")
    assert service.is_held.wait(PROMPT_S)
    flush = path.start_flush(30)
    assert flush is not None
    say(path, "after", "other")
    service.release("before")
    flush.done.result(PROMPT_S)
    assert service.stored == ["before"]


def test_flush_works_where_a_loop_is_running_and_aflush_on_any_loop(make: Make) -> None:
    path, service, _ = make()

    async def main() -> None:
        say(path, "one")
        assert path.flush(10).pending == 0
        say(path, "two")
        assert (await path.aflush(10)).pending == 0

    asyncio.run(main())
    assert service.stored == ["one", "two"]


def test_flush_on_the_background_loop_is_refused_rather_than_waiting_for_itself(make: Make) -> None:
    path, _, loop = make()
    say(path, "one")

    async def main() -> FlushReport:
        return path.flush(10)

    with pytest.raises(MemotelError, match="own loop"):
        loop.run(main(), 10)


def test_a_cancelled_aflush_leaves_the_writes_alone(make: Make) -> None:
    path, service, _ = make()
    service.holds = True
    say(path, "one")

    async def main() -> None:
        flushing = asyncio.ensure_future(path.aflush(30))
        await asyncio.sleep(0)
        flushing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await flushing

    asyncio.run(main())
    service.release()
    assert path.flush(10).pending == 0
    assert service.stored == ["one"]


def test_close_delivers_refuses_what_comes_later_and_is_idempotent(
    make: Make, counts: Counts
) -> None:
    path, service, _ = make()
    say(path, "one")
    assert path.close(10).pending == 0
    assert say(path, "two") is ReceiptStatus.REFUSED
    assert path.close(10) == FlushReport(delivered=0, pending=0, failed=0)
    assert asyncio.run(path.aclose(10)) == FlushReport(delivered=0, pending=0, failed=0)
    assert service.stored == ["one"]
    assert counts.total(Count.REFUSED, "rekall", RefusalReason.CLOSED) == 1


def test_close_counts_what_is_left_and_names_the_setting_in_one_line(
    make: Make, counts: Counts, caplog: pytest.LogCaptureFixture
) -> None:
    path, service, _ = make()
    service.holds = True
    for index in range(7):
        say(path, f"text {index}", str(index))
    began = time.monotonic()
    with caplog.at_level(logging.WARNING, "memotel"):
        report = path.close(0.05)
    assert time.monotonic() - began < PROMPT_S
    assert report == FlushReport(delivered=0, pending=0, failed=7)
    assert counts.total(Count.WRITES, "rekall", "direct", "human", WriteOutcome.DROPPED) == 7
    (line,) = caplog.messages
    assert "7 accepted writes" in line
    assert 'outbox="sqlite:///a/directory" (MEMOTEL_OUTBOX)' in line
    assert "exit_drain_timeout" in line


def test_a_send_that_ends_after_close_changes_no_number(make: Make) -> None:
    path, service, loop = make()
    service.holds = True
    say(path, "one")
    assert service.is_held.wait(PROMPT_S)
    path.close(0)
    before = path.stats().totals
    service.release()
    loop.run(_turns(), PROMPT_S)
    assert path.stats().totals == before
    assert path.stats().in_flight == 0


def test_close_on_the_background_loop_does_not_wait_and_does_not_raise(make: Make) -> None:
    path, service, loop = make()
    service.holds = True
    say(path, "one")

    async def main() -> FlushReport:
        return path.close(10)

    assert loop.run(main(), PROMPT_S).failed == 1


def test_a_full_outbox_drops_the_newest_and_says_so_once_a_minute(
    make: Make, counts: Counts, caplog: pytest.LogCaptureFixture
) -> None:
    path, service, _ = make(outbox_policy=OutboxPolicy(max_writes=3))
    service.holds = True
    with caplog.at_level(logging.WARNING, "memotel"):
        statuses = {say(path, f"text {index}", str(index)) for index in range(10)}
    assert statuses == {ReceiptStatus.ACCEPTED}
    totals = path.stats().totals
    assert (totals.accepted, totals.pending, totals.unaccounted) == (10, 3, 0)
    assert counts.total(Count.WRITES, "rekall", "direct", "human", WriteOutcome.DROPPED) == 7
    assert len(caplog.messages) == 1
    assert "outbox_max_writes" in caplog.messages[0]


def test_a_full_outbox_raises_where_that_was_asked_for(make: Make, counts: Counts) -> None:
    path, service, _ = make(outbox_policy=OutboxPolicy(max_writes=1, on_full="raise"))
    service.holds = True
    say(path, "one")
    with pytest.raises(OutboxFullError):
        say(path, "two")
    assert path.stats().totals.accepted == 1
    assert counts.total(Count.REFUSED, "rekall", RefusalReason.FULL) == 1
    service.release()
    path.flush(10)
    assert say(path, "two") is ReceiptStatus.ACCEPTED


def test_bytes_fill_an_outbox_too(make: Make) -> None:
    path, service, _ = make(outbox_policy=OutboxPolicy(max_bytes=10_000))
    service.holds = True
    for index in range(10):
        say(path, "\N{SNOWMAN}" * 1_000 + str(index), str(index))
    totals = path.stats().totals
    assert totals.pending == 2
    assert totals.size_bytes <= 10_000


def test_deliver_says_that_the_outbox_is_full(make: Make) -> None:
    path, service, _ = make(outbox_policy=OutboxPolicy(max_writes=1))
    service.holds = True
    say(path, "one")
    with pytest.raises(OutboxFullError):
        asyncio.run(path.deliver(turn("two"), Adapter.DIRECT, 1))


def test_redacted_words_are_all_that_is_kept(make: Make) -> None:
    path, service, _ = make(redact=lambda text: text.replace("secret", "***"))
    assert say(path, "my secret") is ReceiptStatus.ACCEPTED
    path.flush(10)
    assert service.stored == ["my ***"]


def _fails(_: str) -> str:
    message = "a fault that names my secret"
    raise ValueError(message)


@pytest.mark.parametrize("redact", [lambda _: None, _fails])
def test_what_redact_withholds_or_fails_on_is_not_kept(
    make: Make,
    counts: Counts,
    caplog: pytest.LogCaptureFixture,
    redact: Callable[[str], str | None],
) -> None:
    path, _, loop = make(redact=redact)
    assert say(path, "my secret") is ReceiptStatus.REFUSED
    assert counts.total(Count.REFUSED, "rekall", RefusalReason.REDACTED) == 1
    assert path.stats().totals.accepted == 0
    assert not loop.is_started
    assert "secret" not in caplog.text


def test_repeats_are_told_apart_after_redaction(make: Make) -> None:
    path, service, _ = make(redact=lambda text: "card ***" if "card" in text else text)
    lines = [(Speaker.HUMAN, "card 1"), (Speaker.AI, "ok"), (Speaker.HUMAN, "card 2")]
    for end in (1, 3):
        path.accept(turn(lines[end - 1][1]), Adapter.DIRECT, lines[:end])
    path.flush(10)
    assert service.stored == ["card ***", "card ***"]


def test_writes_that_are_switched_off_are_refused(make: Make, counts: Counts) -> None:
    path, _, loop = make(is_enabled=False)
    assert say(path, "one") is ReceiptStatus.REFUSED
    assert counts.total(Count.REFUSED, "rekall", RefusalReason.DISABLED) == 1
    assert not loop.is_started


def test_a_write_that_failed_for_good_is_written_when_it_is_said_again(make: Make) -> None:

    path, service, _ = make()
    spoken = turn("hello", speaker=Speaker.AI)
    service.holds = True
    service.error = InvalidRequestError("no", status_code=422)
    assert path.accept(spoken, Adapter.AG2).status is ReceiptStatus.ACCEPTED
    assert path.accept(spoken, Adapter.AG2).status is ReceiptStatus.REDELIVERY
    assert service.is_held.wait(PROMPT_S)
    service.release()
    assert path.flush(10).pending == 0
    service.error = None
    assert path.accept(spoken, Adapter.AG2).status is ReceiptStatus.ACCEPTED
    assert path.flush(10).pending == 0
    assert path.stats().totals.ended[WriteOutcome.STORED] == 1
    assert path.stats().totals.ended[WriteOutcome.REJECTED] == 1


def test_echo_and_redelivery_are_counted_and_not_accepted(make: Make, counts: Counts) -> None:
    path, _, _ = make()
    history = [(Speaker.HUMAN, "hello")]
    for observer in ("a", "b", "a"):
        path.accept(turn("hello", observer=observer), Adapter.AG2, history)
    assert counts.total(Count.ACCEPTED, "rekall", "ag2", "human") == 1
    assert counts.total(Count.DEDUPLICATED, "rekall", "ag2", "echo") == 1
    assert counts.total(Count.DEDUPLICATED, "rekall", "ag2", "redelivery") == 1


def test_eight_threads_lose_and_double_nothing(make: Make) -> None:
    path, service, _ = make()

    def speak(number: int) -> None:
        for index in range(200):
            say(path, f"{number}: {index}", str(number))

    threads = [threading.Thread(target=speak, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.flush(60).pending == 0
    assert path.stats().totals.delivered == 1_600
    assert len(set(service.stored)) == len(service.stored) == 1_600
    own = [text for text in service.stored if text.startswith("3:")]
    assert own == [f"3: {index}" for index in range(200)]


def test_the_gauges_say_what_waits(make: Make, counts: Counts) -> None:
    path, service, _ = make()
    service.holds = True
    say(path, "one")
    snapshot = counts.snapshot()
    assert snapshot[Gauge.OUTBOX_PENDING] == {("rekall",): 1}
    assert snapshot[Gauge.OUTBOX_CAPACITY] == {("rekall",): 10_000}
    assert snapshot[Gauge.OUTBOX_OLDEST_AGE][("rekall",)] >= 0
    assert snapshot[Gauge.UNACCOUNTED] == {("rekall",): 0}
