"""Sharing the caller's event loop: many recalls that begin at once begin over several rounds of the loop.

Fifty chats whose recalls begin in one round would hold up everything else on the loop for the sum of their beginnings.
Here those that come when a round has lasted too long wait for the next, in their order.
"""

import asyncio
from weakref import WeakKeyDictionary

from memotel.deadline import monotonic

SLICE_S = 0.004
"""How long one round of the loop may go on before a recall waits for the next."""


class _Round:
    """The running round of one loop, from the first recall in it on."""

    __slots__ = ("began_at",)

    def __init__(self) -> None:
        self.began_at: float | None = None

    def end(self) -> None:
        self.began_at = None


_rounds: WeakKeyDictionary[asyncio.AbstractEventLoop, _Round] = WeakKeyDictionary()


async def share_loop() -> None:
    """Return at once, or in a later round of the running loop where this one has lasted long already."""
    loop = asyncio.get_running_loop()
    current = _rounds.get(loop)
    if current is None:
        current = _rounds[loop] = _Round()
    while True:
        now = monotonic()
        if current.began_at is None:
            current.began_at = now
            loop.call_soon(current.end)
        if now - current.began_at < SLICE_S:
            return
        await asyncio.sleep(0)
