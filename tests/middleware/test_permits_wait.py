"""How long a call waits for a permit, in virtual time, and who gives one back."""

import asyncio

import pytest
from polling import eventually
from virtual_loop import VirtualLoop, run_virtually

from memotel.calls import Answer, Call
from memotel.config import PermitPolicy
from memotel.errors import ShedError
from memotel.middleware.bridge import bridge
from memotel.middleware.permits import Permits, permits
from memotel.outcomes import Outcome
from memotel.runtime import BackgroundLoop

from .conftest import HIT, MakeCall, Scripted

SHARE = PermitPolicy().wait_share


@pytest.mark.parametrize("budget_s", [1.2, 50.0])
def test_call_waits_a_tenth_of_what_is_left_and_is_shed(
    make_call: MakeCall, budget_s: float
) -> None:
    async def main(loop: VirtualLoop) -> float:
        free = Permits(1)
        assert await free.acquire(0.0)
        began = loop.time()
        with pytest.raises(ShedError):
            await permits(Scripted(HIT), free, SHARE)(make_call(budget_s))
        return loop.time() - began

    assert run_virtually(main) == pytest.approx(0.1 * budget_s, rel=0.1)


def test_call_that_waits_goes_on_as_soon_as_a_permit_is_free(make_call: MakeCall) -> None:
    async def main(loop: VirtualLoop) -> tuple[float, Answer]:
        free = Permits(1)
        assert await free.acquire(0.0)
        began = loop.time()
        loop.call_later(2.0, free.release)
        answer = await permits(Scripted(HIT), free, SHARE)(make_call(50.0))
        assert free.in_use == 0
        return loop.time() - began, answer

    waited_s, answer = run_virtually(main)
    assert (waited_s, answer) == (pytest.approx(2.0, abs=0.01), HIT)


@pytest.mark.parametrize("leaves", ["by its deadline", "by being cancelled"])
def test_permit_of_a_caller_that_left_is_given_back_by_the_work(
    make_call: MakeCall, loop: BackgroundLoop, leaves: str
) -> None:
    free, begun = Permits(1), asyncio.Event()
    callers_loop: list[asyncio.AbstractEventLoop] = []
    may_end: list[asyncio.Event] = []

    async def work(_: Call) -> Answer:
        may_end.append(asyncio.Event())
        callers_loop[0].call_soon_threadsafe(begun.set)
        await may_end[0].wait()
        return HIT

    handle = bridge(permits(Scripted(work), free, SHARE), loop)
    is_late = leaves == "by its deadline"
    call = make_call(0.2 if is_late else 30.0)

    async def main() -> None:
        callers_loop.append(asyncio.get_running_loop())
        asking = asyncio.ensure_future(handle(call))
        await begun.wait()
        if not is_late:
            asking.cancel()
        await asyncio.wait({asking})

    asyncio.run(asyncio.wait_for(main(), 20))
    assert call.future.result(0).outcome is (Outcome.TIMEOUT if is_late else Outcome.CANCELLED)
    assert free.in_use == 1, "the work goes on"

    async def let_go() -> None:
        may_end[0].set()

    loop.run(let_go(), 20)
    eventually(lambda: free.in_use == 0)
