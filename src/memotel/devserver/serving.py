"""The running part of a development server: the world, served by a listener, on a loop."""

import asyncio
import socket
import ssl
import time
from collections.abc import Callable

from memotel.devserver.app import create_app
from memotel.devserver.listener import Listener, Listening
from memotel.devserver.world import World


class Serving:
    """Serves a world on listening sockets until closed. The loop that made it owns it."""

    def __init__(
        self,
        world: World,
        sockets: list[socket.socket],
        tls: ssl.SSLContext | None,
        options: Listening,
    ) -> None:
        self._world = world
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        app = create_app(world, self._faults_changed, options.seed)
        self._listener = Listener(app, sockets, tls, options)

    @property
    def connections_open(self) -> int:
        """How many connections are open."""
        return len(self._listener.connections)

    async def follow_faults(self) -> None:
        """Serve, be silent or refuse, as the faults in force say; look again when one ends."""
        now = time.monotonic()
        await self._listener.follow(self._world.faults.whole_server(now))
        self._cancel_timer()
        ends_at = self._world.faults.next_end(now)
        if ends_at is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(ends_at - now + 0.001, self._faults_changed)

    async def change_faults(self, change: Callable[[], None]) -> None:
        """Change the faults in force; return when the sockets are as they say."""
        change()
        await self.follow_faults()

    def reset(self) -> None:
        """Forget everything; requests in progress end without an answer."""
        self._world.reset()
        self._listener.drop_busy()
        self._faults_changed()

    async def close(self) -> None:
        """Stop serving at once: every connection is dropped, nobody waits for an answer."""
        self._cancel_timer()
        self._world.end_waits()
        await self._listener.close()

    def _faults_changed(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self.follow_faults())

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
