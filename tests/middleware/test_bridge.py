"""The bridge: who waits where, who settles, and that nobody waits longer than the budget."""

import asyncio
import threading

import pytest

from memotel.calls import Answer, Call
from memotel.errors import (
    BudgetExceededError,
    ConfigurationError,
    MemotelError,
    TransportError,
)
from memotel.middleware.bridge import bridge, drive
from memotel.outcomes import Outcome, Phase, QuotaState
from memotel.runtime import BackgroundLoop
from memotel.values import Memories

from .conftest import HIT, MakeCall, Scripted


def test_bridge_brings_the_answer_to_a_blocking_caller(
    loop: BackgroundLoop, make_call: MakeCall
) -> None:
    call = make_call(is_blocking=True)

    answer = drive(bridge(Scripted(HIT), loop)(call))

    assert answer == HIT
    assert call.future.result(0).outcome is Outcome.HIT


def test_bridge_brings_the_answer_to_an_async_caller(
    loop: BackgroundLoop, make_call: MakeCall
) -> None:
    call = make_call()

    async def main() -> Answer:
        return await bridge(Scripted(HIT), loop)(call)

    assert asyncio.run(main()) == HIT


def test_bridge_works_on_the_background_loop_thread(
    loop: BackgroundLoop, make_call: MakeCall
) -> None:
    threads: list[int] = []

    async def note(_: Call) -> Answer:
        threads.append(threading.get_ident())
        return HIT

    drive(bridge(Scripted(note), loop)(make_call(is_blocking=True)))

    assert threads != [threading.get_ident()]


@pytest.mark.parametrize(
    ("quota", "outcome"),
    [
        (QuotaState.OK, Outcome.EMPTY),
        (QuotaState.LIMITED, Outcome.EMPTY),
        (QuotaState.SILENT, Outcome.QUOTA),
    ],
)
def test_bridge_names_an_empty_answer_by_what_explains_it(
    loop: BackgroundLoop, make_call: MakeCall, quota: QuotaState, outcome: Outcome
) -> None:
    async def nothing(call: Call) -> Answer:
        call.quota = quota
        return Memories()

    call = make_call(is_blocking=True)
    drive(bridge(Scripted(nothing), loop)(call))

    assert call.future.result(0).outcome is outcome


def test_bridge_raises_what_the_work_raised_and_settles_its_outcome(
    loop: BackgroundLoop, make_call: MakeCall
) -> None:
    call = make_call(is_blocking=True)

    with pytest.raises(TransportError):
        drive(bridge(Scripted(TransportError("reset")), loop)(call))

    assert call.future.result(0).outcome is Outcome.UNAVAILABLE


def test_bridge_settles_a_bug_as_internal_error(loop: BackgroundLoop, make_call: MakeCall) -> None:
    call = make_call(is_blocking=True)

    with pytest.raises(KeyError):
        drive(bridge(Scripted(KeyError("bug")), loop)(call))

    assert call.future.result(0).outcome is Outcome.INTERNAL_ERROR


class Stuck:
    """Work that ends when it is told to, and says when it has begun."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.ended = threading.Event()
        self._release: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, call: Call) -> Answer:
        self._release, self._loop = asyncio.Event(), asyncio.get_running_loop()
        call.phase = Phase.READ
        self.begun.set()
        await self._release.wait()
        self.ended.set()
        return HIT

    def release(self) -> None:
        assert self._loop is not None
        assert self._release is not None
        self._loop.call_soon_threadsafe(self._release.set)
        assert self.ended.wait(10)


@pytest.mark.parametrize("is_blocking", [True, False], ids=["sync", "async"])
def test_bridge_abandons_stuck_work_at_the_deadline_without_cancelling_it(
    loop: BackgroundLoop, make_call: MakeCall, *, is_blocking: bool
) -> None:
    call, stuck = make_call(0.05, is_blocking=is_blocking), Stuck()
    handle = bridge(stuck, loop)

    run = drive if is_blocking else asyncio.run
    with pytest.raises(BudgetExceededError) as caught:
        run(handle(call))

    assert stuck.begun.wait(10)
    assert not stuck.ended.is_set()
    assert isinstance(caught.value.phase, Phase)
    stuck.release()
    assert call.future.result(0).outcome is Outcome.TIMEOUT


def test_bridge_settles_a_cancelled_caller_at_once_and_leaves_the_work_alone(
    loop: BackgroundLoop, make_call: MakeCall
) -> None:
    call, stuck = make_call(30.0), Stuck()

    async def main() -> None:
        task = asyncio.ensure_future(bridge(stuck, loop)(call))
        await asyncio.to_thread(stuck.begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    assert call.future.result(0).outcome is Outcome.CANCELLED
    stuck.release()
    assert call.future.result(0).outcome is Outcome.CANCELLED


def test_bridge_refuses_a_blocking_call_from_its_own_loop(
    loop: BackgroundLoop, make_call: MakeCall
) -> None:
    call = make_call(is_blocking=True)

    async def inside() -> None:
        drive(bridge(Scripted(HIT), loop)(call))

    with pytest.raises(MemotelError, match="own loop"):
        loop.submit(inside()).result(10)


def test_bridge_does_not_send_what_is_late_already(
    loop: BackgroundLoop, make_call: MakeCall
) -> None:
    call, work = make_call(1e-9, is_blocking=True), Scripted(HIT)

    with pytest.raises(BudgetExceededError):
        drive(bridge(work, loop)(call))
    loop.run(asyncio.sleep(0), 10)

    assert work.calls == []


def test_call_is_settled_by_one_of_many_threads(make_call: MakeCall) -> None:
    call = make_call()
    endings: list[str] = []
    call.on_settle = lambda _, s: endings.append(str(s.outcome))
    start = threading.Barrier(8)
    wins: list[bool] = []

    def settle() -> None:
        start.wait()
        wins.append(call.settle(Outcome.HIT, HIT))

    threads = [threading.Thread(target=settle) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(wins) == 1
    assert endings == ["hit"]


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt()])
@pytest.mark.parametrize("is_blocking", [True, False])
def test_caller_hears_at_once_of_work_that_was_ended_from_outside(
    loop: BackgroundLoop, make_call: MakeCall, error: BaseException, is_blocking: bool
) -> None:
    async def end(_: Call) -> Answer:
        raise error

    call = make_call(budget_s=600.0, is_blocking=is_blocking)
    handle = bridge(end, loop)
    run = drive if is_blocking else asyncio.run
    with pytest.raises(MemotelError, match=type(error).__name__):
        run(handle(call))
    assert call.future.result(0).outcome is Outcome.INTERNAL_ERROR
    assert drive(bridge(Scripted(HIT), loop)(make_call(is_blocking=True))) == HIT


def test_async_call_outside_of_asyncio_is_refused_in_clear_words(
    loop: BackgroundLoop, make_call: MakeCall
) -> None:
    call = make_call()
    work = Scripted(HIT)
    with pytest.raises(ConfigurationError, match="asyncio"):
        drive(bridge(work, loop)(call))  # no loop runs here, as none of asyncio's does under trio
    assert call.future.result(0).outcome is Outcome.REJECTED
    assert work.calls == []
