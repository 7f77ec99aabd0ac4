"""Permits: a bound on what is in flight."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from memotel.calls import Answer, Call
from memotel.errors import ShedError, TransportError
from memotel.middleware.permits import Permits, permits

from .conftest import HIT, MakeCall, Scripted


def test_permits_bound_what_is_in_flight(make_call: MakeCall, run: Callable[..., Any]) -> None:
    free = Permits(3)
    in_flight, most = 0, 0

    async def work(_: Call) -> Answer:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0)
        in_flight -= 1
        return HIT

    handle = permits(Scripted(work), free, 1.0)

    async def main() -> list[Answer]:
        return await asyncio.gather(*[handle(make_call(30.0)) for _ in range(20)])

    assert run(main()) == [HIT] * 20
    assert most == 3
    assert free.in_use == 0


def test_permits_shed_when_none_comes_free(make_call: MakeCall, run: Callable[..., Any]) -> None:
    free = Permits(1)

    async def main() -> None:
        assert await free.acquire(0)
        with pytest.raises(ShedError):
            await permits(Scripted(HIT), free, 0.1)(make_call(0.1))
        free.release()

    run(main())

    assert free.in_use == 0


def test_permits_come_back_after_an_error(make_call: MakeCall, run: Callable[..., Any]) -> None:
    free = Permits(1)

    async def main() -> None:
        for _ in range(3):
            with pytest.raises(TransportError):
                await permits(Scripted(TransportError("reset")), free, 0.1)(make_call())

    run(main())

    assert free.in_use == 0


@pytest.mark.parametrize("has_come", [False, True], ids=["before", "after"])
def test_permit_is_not_lost_to_a_waiter_that_was_cancelled(
    has_come: bool, run: Callable[..., Any]
) -> None:
    """Nothing of memotel cancels its own work; whoever ends all tasks of a process must not use up its permits."""
    free = Permits(1)

    async def main() -> None:
        assert await free.acquire(0.0)
        waiting = asyncio.ensure_future(free.acquire(30.0))
        await asyncio.sleep(0)
        if has_come:
            free.release()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        if not has_come:
            free.release()
        assert free.in_use == 0
        assert await free.acquire(0.0)

    run(main())
