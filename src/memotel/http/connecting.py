"""A connection to one of several addresses: the next is tried when one fails, or keeps us waiting (RFC 8305)."""

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from memotel.deadline import monotonic
from memotel.http.wire import Wire

STAGGER_S = 0.25


@dataclass(frozen=True, slots=True)
class Address:
    """Where to connect: a family and what `socket.connect` takes."""

    family: socket.AddressFamily
    sockaddr: tuple[str | int | bytes, ...]


async def connect(
    addresses: Sequence[Address], left_s: float | None, *, stagger_s: float = STAGGER_S
) -> Wire:
    """Return a connection to the first address that answers; attempts overlap after `stagger_s`.

    Raises `TimeoutError` after `left_s` seconds, and the first address's `OSError` where every one fails.
    """
    if left_s is not None and left_s <= 0:
        raise TimeoutError
    sock = await _reach_first(addresses, left_s, stagger_s)
    # From here on the socket is the transport's to close.
    _, wire = await asyncio.get_running_loop().create_connection(Wire, sock=sock)
    return wire


async def _reach_first(
    addresses: Sequence[Address], left_s: float | None, stagger_s: float
) -> socket.socket:
    if len(addresses) == 1:
        async with asyncio.timeout(left_s):
            return await _reach(addresses[0])
    race = _Race(addresses, None if left_s is None else monotonic() + left_s, stagger_s)
    try:
        return await race.run()
    finally:
        race.stop()


async def _reach(address: Address) -> socket.socket:
    # asyncio sets TCP_NODELAY only on sockets that name their protocol.
    sock = socket.socket(address.family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, address.sockaddr)
    except BaseException:
        sock.close()
        raise
    return sock


class _Race:
    """Attempts at several addresses, of which the first to connect wins."""

    def __init__(
        self, addresses: Sequence[Address], ends_at: float | None, stagger_s: float
    ) -> None:
        self._waiting = list(reversed(addresses))
        self._running: set[asyncio.Task[socket.socket]] = set()
        self._errors: list[OSError] = []
        self._ends_at = ends_at
        self._stagger_s = stagger_s

    async def run(self) -> socket.socket:
        """Return the winner."""
        while self._waiting or self._running:
            self._start_next()
            done, self._running = await asyncio.wait(
                self._running, timeout=self._patience_s(), return_when=asyncio.FIRST_COMPLETED
            )
            winner = self._winner_of(done)
            if winner is not None:
                return winner
            if self._ends_at is not None and monotonic() >= self._ends_at:
                raise TimeoutError
        raise self._errors[0] if self._errors else OSError("the host has no address")

    def _start_next(self) -> None:
        if self._waiting:
            self._running.add(asyncio.ensure_future(_reach(self._waiting.pop())))

    def _patience_s(self) -> float | None:
        left_s = None if self._ends_at is None else max(self._ends_at - monotonic(), 0)
        if not self._waiting:
            return left_s
        return self._stagger_s if left_s is None else min(left_s, self._stagger_s)

    def _winner_of(self, done: set[asyncio.Task[socket.socket]]) -> socket.socket | None:
        winner: socket.socket | None = None
        for task in done:
            error = task.exception()
            if isinstance(error, OSError):
                self._errors.append(error)
            elif error is not None:
                raise error
            elif winner is None:
                winner = task.result()
            else:
                task.result().close()
        return winner

    def stop(self) -> None:
        """Give up the attempts that still run; one that connects all the same is closed."""
        for task in self._running:
            task.add_done_callback(_discard)
            task.cancel()


def _discard(task: asyncio.Task[socket.socket]) -> None:
    if not task.cancelled() and task.exception() is None:
        task.result().close()
