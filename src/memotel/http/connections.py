"""The connections of one client: each carries one request at a time, and waits on a stack for the next.

httpcore's own pool looks at every connection and every queued request at each step, which makes fifty requests at once
cost 2,500 looks, and may hand one idle connection to several. Here nobody queues (the client bounds what is in flight),
so a stack is enough.
"""

from collections import deque
from types import ModuleType

import httpcore

from memotel.http.bodies import Bound
from memotel.http.line import Line
from memotel.http.messages import HttpResponse
from memotel.http.outgoing import Outgoing
from memotel.http.routes import Route


class ConnectionStack:
    """Connections to one service, the latest used first. For one event loop's own tasks only."""

    def __init__(
        self,
        route: Route,
        network: httpcore.AsyncNetworkBackend,
        *,
        keepalive_s: float,
        core: ModuleType = httpcore,
    ) -> None:
        self._route = route
        self._network = network
        self._keepalive_s = keepalive_s
        self._core = core
        self._idle: deque[Line] = deque()
        self._busy: set[Line] = set()

    @property
    def connections(self) -> list[Line]:
        """Every connection, in use or idle."""
        return [*self._busy, *self._idle]

    async def exchange(self, request: Outgoing, bound: Bound) -> HttpResponse:
        """Send a request over an idle connection, or over a new one, and return its answer.

        Raises what `Line.exchange` raises.
        """
        line = await self._take()
        try:
            return await line.exchange(request, bound)
        finally:
            await self._give_back(line)

    async def aclose(self) -> None:
        """Close every connection; requests in flight end with an error."""
        connections = self.connections
        self._idle.clear()
        self._busy.clear()
        for line in connections:
            await line.aclose()

    async def _take(self) -> Line:
        while self._idle:
            kept = self._idle.pop()
            if kept.can_be_used() or await self._can_after_all(kept):
                self._busy.add(kept)
                return kept
            await kept.aclose()
        line = Line(self._route, self._network, keepalive_s=self._keepalive_s, core=self._core)
        self._busy.add(line)
        return line

    async def _can_after_all(self, line: Line) -> bool:
        """Whether a connection can be used once the loop has taken in what came over it."""
        self._busy.add(line)
        try:
            await line.settle()
        except BaseException:
            await line.aclose()
            raise
        finally:
            self._busy.discard(line)
        return line.can_be_used()

    async def _give_back(self, line: Line) -> None:
        """Keep a connection that can be used again, close any other, and let the longest idle one go in its time."""
        is_ours = line in self._busy
        self._busy.discard(line)
        if is_ours and line.is_idle():
            self._idle.append(line)
        else:
            await line.aclose()
        if len(self._idle) > 1 and not self._idle[0].can_be_used():
            await self._idle.popleft().aclose()
