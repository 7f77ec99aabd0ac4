"""Sharing the caller's event loop: many recalls that begin at once begin over several rounds of the loop.

Fifty chats whose recalls begin in one round would hold up everything else on the loop for the sum of their beginnings.
Here those that come when a round has lasted too long wait for the next, in their order.
"""

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

from memotel.deadline import monotonic

SLICE_S = 0.002
"""How long one round of the loop may go on before a recall waits for the next."""


MAX_LOOKING = 32
"""How many look for room in each round; who comes behind them sleeps meanwhile. More than these never begin in one round."""


class _Round:
    """The running round of one loop, from the first recall in it on. It does not keep the loop alive."""

    __slots__ = ("_began_at", "_door", "_line")

    def __init__(self) -> None:
        self._began_at: float | None = None
        self._door: asyncio.Semaphore | None = None
        self._line: deque[object] = deque()

    def is_first(self) -> bool:
        """Whether nobody began in this round before; from here on somebody did."""
        if self._began_at is not None:
            return False
        self._began_at = monotonic()
        asyncio.get_running_loop().call_soon(self._end)
        return True

    def has_room(self) -> bool:
        """Whether one more may begin in this round."""
        began_at = self._began_at
        return self.is_first() if began_at is None else monotonic() - began_at < SLICE_S

    async def wait_for_room(self) -> None:
        """Wait for a round that has room, in the order of asking."""
        # A semaphore that was waited for holds its loop: there is one only while somebody waits.
        door = self._door = self._door or asyncio.Semaphore(MAX_LOOKING)
        me, line = object(), self._line
        line.append(me)
        try:
            async with door:
                while not (line[0] is me and self.has_room()):  # noqa: ASYNC110 # rounds are waited for
                    await asyncio.sleep(0)
        finally:
            line.remove(me)
            if not line:
                self._door = None

    def _end(self) -> None:
        self._began_at = None


_rounds: WeakKeyDictionary[asyncio.AbstractEventLoop, _Round] = WeakKeyDictionary()


async def share_loop() -> None:
    """Return at once where the running loop's round is nobody else's, or in a later round that has room.

    Whoever comes second in a round may have come with many, each with work of its framework's to do first: that goes
    on undisturbed, and the round after it belongs to whatever else has waited. Outside of asyncio nothing is shared.
    """
    if not is_in_event_loop():
        return
    loop = asyncio.get_running_loop()
    current = _rounds.get(loop)
    if current is None:
        current = _entered(loop)
    if current.is_first():
        return
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await current.wait_for_room()


def _entered(loop: asyncio.AbstractEventLoop) -> _Round:
    """Return the first round of a loop; those of loops that were closed while recalls waited in them are let go."""
    for other in list(_rounds):
        if other.is_closed():
            _rounds.pop(other, None)
    entered = _rounds[loop] = _Round()
    return entered


def is_in_event_loop() -> bool:
    """Whether the caller runs on a thread whose event loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
