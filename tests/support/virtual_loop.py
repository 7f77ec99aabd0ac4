"""An asyncio loop whose clock jumps to the next timer instead of waiting for it, so that hours take no time."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
START_S = 1_000.0


class _JumpingSelector(selectors.SelectSelector):
    """Never waits: the time that a select would take passes at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START_S

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            message = "the loop waits for an event that nothing will bring"
            raise RuntimeError(message)
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop with virtual time."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


class LoopHere:
    """The write path's view of a loop that the test itself runs."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def call_soon(self, function: Callable[..., object], *args: object) -> None:
        self._loop.call_soon(function, *args)

    def call_in_a_moment(self, function: Callable[[], object]) -> None:
        self._loop.call_soon(function)

    def is_current(self) -> bool:
        return False


def run_virtually(main: Callable[[VirtualLoop], Coroutine[Any, Any, T]]) -> T:
    """Run `main(loop)` to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        return runner.run(main(loop))
