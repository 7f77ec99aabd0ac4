"""The drain in virtual time: order, concurrency, pauses, retries, parking, ageing."""

import asyncio
import contextvars
import itertools
from contextlib import nullcontext

import pytest
from scripted_service import (
    OVER_QUOTA,
    STORED,
    Desk,
    ScriptedService,
    desk,
    numbered,
    replies,
    turn,
    unavailable,
)
from virtual_loop import VirtualLoop, run_virtually

from memotel.calls import RETRY, Call
from memotel.config import OutboxPolicy, WritePolicy
from memotel.counts import Count, Gauge
from memotel.errors import (
    AuthenticationError,
    BudgetExceededError,
    CircuitOpenError,
    InvalidRequestError,
    QuotaExceededError,
    RateLimitedError,
    TransportError,
)
from memotel.locks import REST_S, Callers
from memotel.outcomes import Adapter, Speaker, WriteOutcome
from memotel.values import FlushReport, Write, WriteAnswer
from memotel.writes.drain import Gates
from memotel.writes.outbox import Entry, MemoryOutbox


def test_writes_of_one_scope_are_sent_in_order_one_at_a_time() -> None:
    async def main(loop: VirtualLoop) -> ScriptedService:
        at = desk(loop)
        at.say(*numbered(50))
        await at.path.aflush(60)
        return at.service

    service = run_virtually(main)
    assert service.stored == list(numbered(50))
    assert service.most_in_flight == 1


def test_flush_reports_what_ended_while_it_waited() -> None:
    async def main(loop: VirtualLoop) -> FlushReport:
        refusal = InvalidRequestError("no", status_code=422)
        late = unavailable(503)
        fates = {"bad": refusal, "late": late}
        at = desk(loop, lambda write, _: fates.get(write.turn.text, STORED))
        for text in ("good", "better", "bad", "late"):
            at.say(text, session=text)
        return await at.path.aflush(2)

    assert run_virtually(main) == FlushReport(delivered=2, pending=1, failed=1)


def test_order_holds_within_a_scope_while_attempts_fail() -> None:
    async def main(loop: VirtualLoop) -> ScriptedService:
        at = desk(loop, replies(unavailable(), TransportError("reset")))
        for text in numbered(10):
            at.say(text, session="a")
            at.say(f"b{text}", session="b")
        await at.path.aflush(600)
        return at.service

    stored = run_virtually(main).stored
    assert [text for text in stored if not text.startswith("b")] == list(numbered(10))
    assert [text for text in stored if text.startswith("b")] == list(numbered(10, "bt"))


def test_at_most_eight_are_in_flight_starting_at_four() -> None:
    async def main(loop: VirtualLoop) -> tuple[int, int]:
        at = desk(loop)
        for session in range(400):
            at.say("hello", session=str(session))
        await at.rest(0.005)
        first = at.service.in_flight
        await at.path.aflush(60)
        return first, at.service.most_in_flight

    assert run_virtually(main) == (4, 8)


def test_only_a_429_lowers_how_many_are_in_flight() -> None:
    async def limit_after(loop: VirtualLoop, error: Exception) -> int:
        at = desk(loop, replies(error))
        for session in range(4):
            at.say("hello", session=str(session))
        await at.rest(0.015)
        return at.path.stats().in_flight_limit

    async def main(loop: VirtualLoop) -> list[int]:
        throttled = RateLimitedError("slow down", status_code=429)
        errors = (throttled, unavailable(), TransportError("reset"), BudgetExceededError("late"))
        return [await limit_after(loop, error) for error in errors]

    assert run_virtually(main) == [2, 4, 4, 4]


def test_retry_after_pauses_the_whole_account_and_is_clamped() -> None:
    async def first_send_after(loop: VirtualLoop, error: Exception) -> float:
        at = desk(loop, replies(error), policy=WritePolicy(retry_after_max_s=100))
        at.say("one", session="a")
        await at.rest(1)
        at.say("two", session="b")
        await at.path.aflush(1_000)
        return round(at.service.times[1] - at.service.times[0], 2)

    async def main(loop: VirtualLoop) -> list[float]:
        honoured = RateLimitedError("slow down", status_code=429, retry_after_s=30)
        clamped = unavailable(503, retry_after_s=86_400)
        return [await first_send_after(loop, error) for error in (honoured, clamped)]

    assert run_virtually(main) == [30.01, 100.01]


@pytest.mark.parametrize("status", [401, 403])
def test_rejected_credentials_pause_writes_until_one_check_succeeds(status: int) -> None:
    async def main(loop: VirtualLoop) -> tuple[Desk, int, bool]:
        def script(write: Write, attempt: int) -> WriteAnswer | Exception:
            del write, attempt
            is_right = loop.time() > began + 150
            return STORED if is_right else AuthenticationError("no", status_code=status)

        began = loop.time()
        at = desk(loop, script, policy=WritePolicy(initial_in_flight=1))
        for session in range(20):
            at.say("hello", session=str(session))
        await at.rest(149)
        sends, was_rejected = len(at.service.sent), at.path.stats().is_credentials_rejected
        await at.path.aflush(100)
        return at, sends, was_rejected

    at, sends, was_rejected = run_virtually(main)
    assert sends == 3, "one at once, then one check each minute"
    assert was_rejected
    assert not at.path.stats().is_credentials_rejected
    assert at.ended() == {WriteOutcome.STORED: 20}


def test_credentials_accepted_elsewhere_end_the_pause_at_once() -> None:
    async def main(loop: VirtualLoop) -> list[float]:
        at = desk(loop, replies(AuthenticationError("no", status_code=401)))
        at.say("hello")
        await at.rest(5)
        at.path.credentials_accepted()
        await at.path.aflush(1)
        return [round(time - at.service.times[0], 3) for time in at.service.times]

    assert run_virtually(main) == [0.0, 5.0]


@pytest.mark.parametrize("status", [400, 404, 409, 413, 422])
def test_what_the_service_never_takes_becomes_a_dead_letter_and_its_scope_goes_on(
    status: int,
) -> None:
    async def main(loop: VirtualLoop) -> Desk:
        refusal = InvalidRequestError("no", status_code=status, code="bad", request_id="r1")
        at = desk(loop, lambda write, _: refusal if write.turn.text == "bad" else STORED)
        at.say("bad", "good")
        await at.path.aflush(5)
        return at

    at = run_virtually(main)
    assert at.ended() == {WriteOutcome.REJECTED: 1, WriteOutcome.STORED: 1}
    (letter,) = at.path.dead_letters()
    assert (letter.write.turn.text, letter.cause) == ("bad", f"status {status}, bad, r1")


def test_a_write_that_fails_eight_times_while_others_succeed_is_poison() -> None:
    async def main(loop: VirtualLoop) -> Desk:
        at = desk(loop, lambda write, _: unavailable(500) if write.turn.text == "bad" else STORED)
        at.say("before it", session="other")
        await at.path.aflush(1)
        at.say("bad", "behind it")
        for text in numbered(600):
            at.say(text, session="other")
            await at.rest(0.1)
        await at.path.aflush(60)
        return at

    at = run_virtually(main)
    assert at.service.sent.count("bad") == 8
    assert [letter.cause for letter in at.path.dead_letters()] == ["status 500, poison"]
    assert "behind it" in at.service.stored
    assert at.ended() == {WriteOutcome.REJECTED: 1, WriteOutcome.STORED: 602}


def test_an_outage_poisons_nothing() -> None:
    async def main(loop: VirtualLoop) -> Desk:
        at = desk(loop, lambda _, __: unavailable() if loop.time() < ends_at else STORED)
        for text in numbered(5):
            at.say(text, session=text)
        await at.rest(86_400)
        await at.path.aflush(600)
        return at

    ends_at = 1_000 + 80_000
    at = run_virtually(main)
    assert at.service.attempts.most_common(1)[0][1] > 100
    assert at.ended() == {WriteOutcome.STORED: 5}


def test_a_write_older_than_the_age_limit_expires() -> None:
    async def main(loop: VirtualLoop) -> Desk:
        at = desk(loop, lambda _, __: unavailable(), policy=WritePolicy(max_age_s=3_600))
        at.say("old", "behind it")
        await at.rest(3_000)
        at.say("younger", session="other")
        await at.rest(700)
        return at

    at = run_virtually(main)
    assert at.ended() == {WriteOutcome.EXPIRED: 2}
    assert at.path.stats().totals.pending == 1


def test_expiry_does_not_wait_for_a_pause_to_end() -> None:
    async def main(loop: VirtualLoop) -> Desk:
        error = RateLimitedError("wait", status_code=429, retry_after_s=3_600)
        at = desk(loop, replies(error), policy=WritePolicy(max_age_s=60))
        at.say("old")
        await at.rest(61)
        return at

    assert run_virtually(main).ended() == {WriteOutcome.EXPIRED: 1}


def test_a_write_over_quota_is_parked_with_its_scope_and_probed_each_minute() -> None:
    async def main(loop: VirtualLoop) -> Desk:
        at = desk(loop, lambda _, __: OVER_QUOTA)
        at.say("one", "two", session="a")
        at.say("three", session="b")
        await at.rest(181)
        return at

    at = run_virtually(main)
    assert at.path.stats().totals.parked == at.path.stats().totals.pending == 3
    assert at.service.sent == ["one", "three", "one", "one", "one"]
    assert at.counts.total(Gauge.OUTBOX_PARKED, "memorysync") == 3
    assert {call.future.result().outcome for call in at.service.calls} == {RETRY}


@pytest.mark.parametrize("strict", [True, False])
def test_everything_parked_is_stored_in_order_once_the_quota_returns(strict: bool) -> None:
    async def main(loop: VirtualLoop) -> Desk:
        error = QuotaExceededError("over", status_code=429, code="limit_exceeded")
        over = error if strict else OVER_QUOTA
        at = desk(loop, lambda _, __: over if loop.time() < 1_100 else STORED)
        for text in numbered(200):
            at.say(text, session=str(len(text)))
        await at.rest(300)
        await at.path.aflush(60)
        return at

    at = run_virtually(main)
    assert at.ended() == {WriteOutcome.STORED: 200}
    by_session = sorted(numbered(200), key=len)
    assert sorted(at.service.stored, key=len) == by_session


def test_evidence_of_health_elsewhere_sends_what_is_parked_at_once() -> None:
    async def main(loop: VirtualLoop) -> Desk:
        at = desk(loop, replies(OVER_QUOTA))
        at.say("one")
        await at.rest(1)
        at.path.quota_returned()
        report = await at.path.aflush(1)
        assert (report.delivered, report.pending) == (1, 0)
        return at

    assert run_virtually(main).service.stored == ["one"]


def test_at_most_half_of_the_capacity_is_parked() -> None:
    async def main(loop: VirtualLoop) -> Desk:
        at = desk(loop, lambda _, __: OVER_QUOTA, outbox=OutboxPolicy(max_writes=10))
        at.say(*numbered(4))
        at.say(*numbered(4, "u"), session="other")
        await at.rest(1)
        at.say("late")
        await at.rest(1)
        return at

    at = run_virtually(main)
    assert at.path.stats().totals.parked == 5
    assert at.ended() == {WriteOutcome.QUOTA: 4}


def test_a_parked_write_is_given_up_after_its_age_and_does_not_expire_before() -> None:
    async def main(loop: VirtualLoop) -> tuple[dict[WriteOutcome, int], Desk]:
        policy = WritePolicy(max_age_s=100, max_parked_age_s=1_000)
        at = desk(loop, lambda _, __: OVER_QUOTA, policy=policy)
        at.say("one", "two")
        await at.rest(990)
        before = at.ended()
        await at.rest(20)
        return before, at

    before, at = run_virtually(main)
    assert before == {}
    assert at.ended() == {WriteOutcome.QUOTA: 2}


def test_a_write_parked_longer_than_the_age_limit_is_still_sent_after_the_quota_returns() -> None:
    async def main(loop: VirtualLoop) -> Desk:
        policy = WritePolicy(max_age_s=100, quota_recheck_s=500)
        at = desk(loop, lambda _, __: OVER_QUOTA if loop.time() < 1_400 else STORED, policy=policy)
        at.say("one", "two")
        await at.rest(600)
        return at

    assert run_virtually(main).ended() == {WriteOutcome.STORED: 2}


def test_a_send_gives_way_to_recalls_for_at_most_the_yield() -> None:
    async def main(loop: VirtualLoop) -> list[float]:
        began = loop.time()
        policy = WritePolicy(recall_yield_s=0.05)
        at = desk(loop, policy=policy, gates=Gates(recalls_in_flight=lambda: recalls[0]))
        at.say("one")
        await at.rest(0.02)
        recalls[0] = 0
        await at.path.aflush(1)
        recalls[0] = 1
        at.say("two")
        await at.path.aflush(1)
        return [round(time - began, 3) for time in at.service.times]

    recalls = [1]
    first, second = run_virtually(main)
    assert 0.02 <= first <= 0.026
    assert 0.08 <= second <= 0.095


@pytest.mark.parametrize("is_amid", [True, False])
def test_a_delivery_gives_way_to_an_accept_that_is_under_way(is_amid: bool) -> None:
    async def main(loop: VirtualLoop) -> int:
        callers = Callers(lambda _: seen.append(at.service.stored[:]))
        at = desk(loop, gates=Gates(callers=callers))
        at.say("one")
        with callers if is_amid else nullcontext():
            await at.path.aflush(1)
        return len(at.service.sent)

    seen: list[list[str]] = []
    assert run_virtually(main) == 1
    assert seen == ([["one"]] if is_amid else [])  # once it has ended, before the next is planned


def test_an_accept_is_under_way_until_the_outbox_has_it() -> None:
    class Disk(MemoryOutbox):
        def put(self, write: Write, expires_at: float, size: int) -> Entry | None:
            callers.go_first()
            return super().put(write, expires_at, size)

    async def main(loop: VirtualLoop) -> None:
        at = desk(loop, gates=Gates(callers=callers), outbox_on_disk=Disk())
        at.say("one")
        rests.append("accepted")
        callers.go_first()
        await at.path.aflush(1)

    rests: list[object] = []
    callers = Callers(rests.append)
    run_virtually(main)
    assert rests == [REST_S, "accepted"]


def test_no_send_starts_while_the_circuit_is_open() -> None:
    async def main(loop: VirtualLoop) -> list[float]:
        began = loop.time()
        at = desk(loop, gates=Gates(may_send=lambda _: max(0.0, began + 7 - loop.time())))
        at.say("one")
        await at.path.aflush(20)
        return [time - began for time in at.service.times]

    assert run_virtually(main) == [pytest.approx(7.0, abs=0.01)]


def test_an_open_circuit_inside_the_stack_costs_no_attempt_and_no_spinning() -> None:
    async def main(loop: VirtualLoop) -> int:
        at = desk(loop, lambda _, __: CircuitOpenError("open"), rng=lambda: 0.0)
        at.say("one")
        await at.rest(60)
        return len(at.service.sent)

    assert run_virtually(main) <= 60 / 0.25 + 1


def test_backoff_grows_per_write_up_to_its_bound() -> None:
    async def main(loop: VirtualLoop) -> list[float]:
        policy = WritePolicy(backoff_max_s=2)
        at = desk(loop, lambda _, __: TransportError("reset"), policy=policy)
        at.service.latency_s = 0
        at.say("one")
        await at.rest(6)
        times = at.service.times
        return [round(b - a, 2) for a, b in itertools.pairwise(times)]

    assert run_virtually(main) == [0.25, 0.5, 1.0, 2.0, 2.0]


def test_an_error_of_our_own_keeps_the_write_and_is_repeated() -> None:
    async def main(loop: VirtualLoop) -> Desk:
        at = desk(loop, replies(KeyError("a fault in a codec")))
        at.say("one")
        await at.path.aflush(5)
        return at

    at = run_virtually(main)
    assert at.ended() == {WriteOutcome.STORED: 1}
    assert at.counts.total(Count.RETRIES, "memorysync", "write") == 1


def test_each_attempt_is_a_call_of_its_own_that_is_settled() -> None:
    async def main(loop: VirtualLoop) -> list[Call]:
        at = desk(loop, replies(unavailable()))
        at.say("one")
        await at.path.aflush(5)
        return at.service.calls

    first, second = run_virtually(main)
    assert first is not second
    assert first.future.result().outcome == RETRY
    assert isinstance(first.future.result().error, Exception)
    assert second.future.result().outcome is WriteOutcome.STORED
    assert second.future.result().answer is STORED
    assert first.budget_s == WritePolicy().attempt_budget_s


def test_nothing_of_the_waking_turn_leaks_into_a_send() -> None:

    mark = contextvars.ContextVar("mark", default="clean")
    seen: list[str] = []

    async def main(loop: VirtualLoop) -> None:
        def script(write: Write, attempt: int) -> WriteAnswer:
            del write, attempt
            seen.append(mark.get())
            return STORED

        at = desk(loop, script)
        mark.set("of the turn")
        at.say("one")
        await at.path.aflush(5)

    run_virtually(main)
    assert seen == ["clean"]


def test_deliver_returns_the_answer_or_none_or_raises_the_definite_error() -> None:
    async def main(loop: VirtualLoop) -> None:
        at = desk(loop)
        assert await at.path.deliver(turn("one"), Adapter.DIRECT, 5) is STORED
        slow = desk(loop, lambda _, __: unavailable())
        assert await slow.path.deliver(turn("one"), Adapter.DIRECT, 5) is None
        assert slow.path.stats().totals.pending == 1
        refusal = InvalidRequestError("no", status_code=422)
        rejecting = desk(loop, lambda _, __: refusal)
        with pytest.raises(InvalidRequestError):
            await rejecting.path.deliver(turn("one"), Adapter.DIRECT, 5)
        parking = desk(loop, lambda _, __: OVER_QUOTA)
        assert await parking.path.deliver(turn("one"), Adapter.DIRECT, 5) is OVER_QUOTA
        behind = await parking.path.deliver(turn("two"), Adapter.DIRECT, 5)
        assert behind is not None
        assert behind.outcome is WriteOutcome.QUOTA

    run_virtually(main)


def test_a_cancelled_deliver_loses_no_write() -> None:
    async def main(loop: VirtualLoop) -> Desk:
        at = desk(loop)
        waiting = loop.create_task(at.path.deliver(turn("one"), Adapter.DIRECT, 5))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await at.path.aflush(5)
        return at

    assert run_virtually(main).ended() == {WriteOutcome.STORED: 1}


def test_an_agents_words_are_sent_as_an_agents() -> None:
    async def main(loop: VirtualLoop) -> Desk:
        at = desk(loop)
        at.path.accept(turn("hello", speaker=Speaker.AI), Adapter.AG2)
        await at.path.aflush(5)
        return at

    at = run_virtually(main)
    assert at.counts.total(Count.ACCEPTED, "memorysync", "ag2", "ai") == 1
    assert at.counts.total(Count.WRITES, "memorysync", "ag2", "ai", "stored") == 1
