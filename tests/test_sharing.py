"""Sharing the caller's loop: a round takes in what a slice allows, the rest comes in its order in later rounds."""

import asyncio
import gc
import weakref

import pytest

from memotel import sharing
from memotel.sharing import SLICE_S, share_loop

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


def test_loop_is_not_kept_alive() -> None:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(share_loop())
    loop.close()
    gone = weakref.ref(loop)
    del loop
    gc.collect()
    assert gone() is None
