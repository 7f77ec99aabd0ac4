"""Waiting for a future for so long and no longer, without cancelling anything.

A timer fails the waiter's own future; no task is cancelled, so nothing of httpcore's is ever torn in the middle.
"""

import asyncio
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


async def arrival(future: "asyncio.Future[T]", left_s: float | None) -> T:
    """Return the result of `future`, which belongs to this waiter alone.

    Raises `TimeoutError` after `left_s` seconds, at once where that is zero or less and the result is not there.
    """
    if left_s is None or future.done():
        return await future
    timer = asyncio.get_running_loop().call_later(max(left_s, 0), _expire, future)
    try:
        return await future
    finally:
        timer.cancel()


async def flight_result(flight: "Future[T]", left_s: float | None) -> T:
    """Return the result of a flight that others may wait for too; it goes on when this waiter gives up.

    Raises `TimeoutError` after `left_s` seconds, and whatever the flight raised.
    """
    if not flight.done():
        loop = asyncio.get_running_loop()
        landed: asyncio.Future[None] = loop.create_future()
        flight.add_done_callback(lambda _: _tell(loop, landed))
        await arrival(landed, left_s)
    return flight.result()


def _expire(future: "asyncio.Future[Any]") -> None:
    if not future.done():
        future.set_exception(TimeoutError())


def _tell(loop: asyncio.AbstractEventLoop, landed: "asyncio.Future[None]") -> None:
    try:
        loop.call_soon_threadsafe(_land, landed)
    except RuntimeError:
        pass  # that loop is closed: nobody waits any more


def _land(landed: "asyncio.Future[None]") -> None:
    if not landed.done():
        landed.set_result(None)
