"""Order per scope: one lane each, first in first out, at most one write of a lane in flight."""

import heapq
from collections import deque
from enum import Enum
from itertools import count

from memotel.values import Scope
from memotel.writes.outbox import Entry


class LaneState(Enum):
    """Where a lane stands."""

    READY = 1
    WAITING = 2
    BUSY = 3
    PARKED = 4


class Lane:
    """The writes of one scope, oldest first. Its head is the only one that may be sent."""

    __slots__ = ("entries", "state")

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque()
        self.state = LaneState.READY


class Lanes:
    """All lanes that hold something. Every step costs at most the logarithm of the lanes that wait.

    An emptied lane is forgotten; what the queues still hold of it is skipped when its turn comes.
    """

    def __init__(self) -> None:
        self._lanes: dict[Scope, Lane] = {}
        self._ready: deque[Lane] = deque()
        self._waiting: list[tuple[float, int, Lane]] = []
        self._tie = count()

    def add(self, entry: Entry) -> Lane:
        """Put an entry at the end of its lane and return the lane."""
        lane = self._lanes.get(entry.scope)
        if lane is None:
            lane = self._lanes[entry.scope] = Lane()
            self._ready.append(lane)
        lane.entries.append(entry)
        return lane

    def lane(self, entry: Entry) -> Lane:
        """Return the lane that an entry stands in."""
        return self._lanes[entry.scope]

    def take(self, now: float) -> Entry | None:
        """Return the head of the lane whose turn it is, and mark the lane busy."""
        self._wake(now)
        while self._ready:
            lane = self._ready.popleft()
            if lane.entries and lane.state is LaneState.READY:
                lane.state = LaneState.BUSY
                return lane.entries[0]
        return None

    def next_at(self, now: float) -> float | None:
        """Return when a lane will be ready: `now` where one is, None where none waits."""
        self._wake(now)
        while self._ready and not self._is_ready(self._ready[0]):
            self._ready.popleft()
        if self._ready:
            return now
        return self._waiting[0][0] if self._waiting else None

    def pop(self, entry: Entry) -> Lane | None:
        """Take the head out of its lane; return the lane, or None where nothing is left in it."""
        lane = self._lanes[entry.scope]
        lane.entries.popleft()
        if lane.entries:
            return lane
        del self._lanes[entry.scope]
        return None

    def cut_last(self, lane: Lane) -> Entry:
        """Take the newest entry out of a lane and return it."""
        entry = lane.entries.pop()
        if not lane.entries:
            del self._lanes[entry.scope]
        return entry

    def wait(self, entry: Entry) -> None:
        """Have a busy lane wait until its head is due."""
        lane = self._lanes[entry.scope]
        lane.state = LaneState.WAITING
        heapq.heappush(self._waiting, (entry.due_at, next(self._tie), lane))

    def release(self, lane: Lane) -> None:
        """Have a busy or parked lane queue up again."""
        lane.state = LaneState.READY
        self._ready.append(lane)

    def _wake(self, now: float) -> None:
        waiting = self._waiting
        while waiting and (waiting[0][0] <= now or waiting[0][2].state is not LaneState.WAITING):
            lane = heapq.heappop(waiting)[2]
            if lane.state is LaneState.WAITING:
                self.release(lane)

    @staticmethod
    def _is_ready(lane: Lane) -> bool:
        return bool(lane.entries) and lane.state is LaneState.READY
