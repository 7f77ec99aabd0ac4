"""An event loop on a thread of its own."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")
CALL_TIMEOUT_S = 10.0


class LoopThread:
    """A running loop. Starts at once; `stop` ends it and joins the thread.

    Thread-safe. Work that takes longer than `CALL_TIMEOUT_S` raises a TimeoutError.
    """

    def __init__(self, name: str) -> None:
        self._is_ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        self._is_ready.wait()

    def call(self, work: Callable[[], _T]) -> _T:
        """Call a function on the loop and return its result."""

        async def call() -> _T:
            return work()

        return self.run(call())

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the loop and return its result."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(CALL_TIMEOUT_S)
        except concurrent.futures.CancelledError:
            raise RuntimeError("the loop stopped before the work was done") from None

    def stop(self) -> None:
        """Stop the loop, cancel what still runs on it, wait for the thread."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(CALL_TIMEOUT_S)

    def _run(self) -> None:
        # Not the policy's loop: the server reaches for sockets in a way that only this one allows.
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._live())

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._is_ready.set()
        await self._stopping.wait()
