"""AutoGen's `CancellationToken`: whatever waits here is abandoned the moment a token is cancelled."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from memotel.autogen.compat import CancellationToken

T = TypeVar("T")


async def abandonable(work: Coroutine[Any, Any, T], token: CancellationToken | None) -> T:
    """Await `work`; raise `CancelledError` at once if the token is cancelled, before or meanwhile, on any thread."""
    if token is None:
        return await work
    if token.is_cancelled():
        work.close()
        raise asyncio.CancelledError("the cancellation token was cancelled before the call")
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()

    def cancel() -> None:
        if not (task.done() or loop.is_closed()):
            loop.call_soon_threadsafe(task.cancel)

    token.add_callback(cancel)
    try:
        return await task
    finally:
        task.cancel()
