"""Sharing the caller's loop: a round takes in what a slice allows, the rest comes in its order in later rounds."""

import asyncio
import gc
import weakref

import pytest

from memotel import sharing
from memotel.sharing import MAX_LOOKING, SLICE_S, share_loop

WORK_S = SLICE_S / 4


class Clock:
    """Time that passes only where the test's own work takes it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(sharing, "monotonic", made.monotonic)
    return made


def test_round_takes_in_no_more_than_a_slice_and_nobody_is_left_out(clock: Clock) -> None:
    rounds: list[int] = []
    began: list[tuple[int, int]] = []

    async def recall(number: int) -> None:
        await share_loop()
        began.append((len(rounds), number))
        clock.now += WORK_S

    async def scenario() -> None:
        recalls = [asyncio.ensure_future(recall(number)) for number in range(50)]
        while not all(each.done() for each in recalls):
            rounds.append(0)
            await asyncio.sleep(0)

    asyncio.run(scenario())
    assert [number for _, number in began] == list(range(50))
    per_round = [sum(at == number for at, _ in began) for number in range(len(rounds) + 1)]
    assert max(per_round) <= SLICE_S / WORK_S + 1


def test_recall_alone_begins_at_once(clock: Clock) -> None:
    async def scenario() -> bool:
        task = asyncio.ensure_future(share_loop())
        await asyncio.sleep(0)
        return task.done()

    assert asyncio.run(scenario())
    assert asyncio.run(scenario())


def test_cancelled_while_it_waits_it_leaves_the_others_alone(clock: Clock) -> None:
    async def scenario() -> None:
        await share_loop()
        clock.now += 2 * SLICE_S
        waiting = [asyncio.ensure_future(share_loop()) for _ in range(2)]
        waiting[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting[0]
        await waiting[1]

    asyncio.run(scenario())


def test_those_far_behind_are_not_asked_in_every_round(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []

    def read() -> float:
        looks.append(clock.now)
        return clock.now

    monkeypatch.setattr(sharing, "monotonic", read)
    began: list[int] = []

    async def recall(number: int) -> None:
        await share_loop()
        began.append(number)
        clock.now += WORK_S

    async def scenario() -> None:
        await asyncio.gather(*map(recall, range(1000)))

    asyncio.run(scenario())
    assert began == list(range(1000))
    # Asked in every round, the thousand would look more than a hundred times each.
    assert len(looks) < 1000 * 2 * MAX_LOOKING


def test_cancelled_far_behind_it_leaves_the_order_of_the_others(clock: Clock) -> None:
    began: list[int] = []

    async def recall(number: int) -> None:
        await share_loop()
        began.append(number)
        clock.now += WORK_S

    async def scenario() -> None:
        recalls = [asyncio.ensure_future(recall(number)) for number in range(200)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for given_up in recalls[1::2]:
            given_up.cancel()
        await asyncio.wait(recalls)
        assert await asyncio.wait_for(asyncio.gather(*recalls[::2]), 20)
        await share_loop()

    asyncio.run(scenario())
    assert [number for number in began if not number % 2] == list(range(0, 200, 2))


@pytest.mark.parametrize("at_once", [1, 2 * MAX_LOOKING])
def test_loop_is_not_kept_alive(at_once: int) -> None:
    async def scenario() -> None:
        await asyncio.gather(*(share_loop() for _ in range(at_once)))

    loop = asyncio.new_event_loop()
    loop.run_until_complete(scenario())
    loop.close()
    gone = weakref.ref(loop)
    del loop
    gc.collect()
    assert gone() is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_loop_that_is_closed_while_recalls_wait_is_let_go_with_the_next(clock: Clock) -> None:
    async def recall() -> None:
        await share_loop()
        clock.now += WORK_S

    loop = asyncio.new_event_loop()
    recalls = [loop.create_task(recall()) for _ in range(3 * MAX_LOOKING)]
    for _ in range(5):
        loop.run_until_complete(asyncio.sleep(0))
    assert 0 < sum(each.done() for each in recalls) < len(recalls) - MAX_LOOKING
    loop.set_exception_handler(lambda *_: None)  # it says of each task that it was destroyed
    loop.close()
    asyncio.run(recall())
    assert loop not in sharing._rounds


def test_outside_of_asyncio_nothing_is_waited_for() -> None:
    with pytest.raises(StopIteration):
        share_loop().send(None)
