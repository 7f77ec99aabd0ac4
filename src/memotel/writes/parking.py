"""Writes that wait for a quota: whole lanes, oldest first, one probe at a time. No clock of its own."""

from collections import OrderedDict

from memotel.values import Scope
from memotel.writes.lanes import Lane, Lanes, LaneState
from memotel.writes.ledger import Ledger
from memotel.writes.outbox import Entry


class Parking:
    """The lanes whose head was answered "over quota", in the order in which that happened.

    What stands behind such a head waits with it, so that order is kept. At most `capacity` writes may be parked;
    the newest beyond that are given up. `next_probe_at` is when the oldest lane's head is tried again.
    """

    def __init__(self, lanes: Lanes, ledger: Ledger, *, capacity: int, recheck_s: float) -> None:
        self._lanes = lanes
        self._ledger = ledger
        self._capacity = capacity
        self._recheck_s = recheck_s
        self._parked: OrderedDict[Scope, Lane] = OrderedDict()
        self._probe: Entry | None = None
        self.next_probe_at = 0.0

    def __bool__(self) -> bool:
        return bool(self._parked)

    def holds(self, lane: Lane) -> bool:
        """Whether a lane is parked, or its head is the probe."""
        return bool(lane.entries) and self._parked.get(lane.entries[0].scope) is lane

    def add(self, entry: Entry, lane: Lane, now: float) -> Entry | None:
        """Park an entry that has just joined a parked lane; return it where it must be given up."""
        if self._ledger.parked >= self._capacity:
            return self._lanes.cut_last(lane)
        self._ledger.park(entry, now)
        return None

    def park(self, lane: Lane, now: float) -> list[Entry]:
        """Park a lane whose head was answered "over quota"; return the entries that must be given up."""
        if not self._parked:
            self.next_probe_at = now + self._recheck_s
        scope = lane.entries[0].scope
        self._parked.setdefault(scope, lane)
        lane.state = LaneState.PARKED
        for entry in lane.entries:
            if self._ledger.parked < self._capacity:
                self._ledger.park(entry, now)
        given_up = []
        while lane.entries and lane.entries[-1].parked_at is None:
            given_up.append(self._lanes.cut_last(lane))
        if not lane.entries:
            del self._parked[scope]
        return given_up[::-1]

    def take(self, now: float) -> Entry | None:
        """Return the probe: the head of the oldest parked lane, once it is time; None where it is not."""
        if self._probe is not None or now < self.next_probe_at:
            return None
        for lane in self._parked.values():
            if lane.entries[0].due_at <= now:
                lane.state = LaneState.BUSY
                self._probe = lane.entries[0]
                self.next_probe_at = now + self._recheck_s
                return self._probe
        return None

    def next_at(self) -> float | None:
        """Return when the next probe is due, or None where nothing is parked or a probe is out."""
        if not self._parked or self._probe is not None:
            return None
        earliest = float("inf")
        for lane in self._parked.values():
            earliest = min(earliest, lane.entries[0].due_at)
            if earliest <= self.next_probe_at:
                return self.next_probe_at
        return earliest

    def returned(self, entry: Entry) -> None:
        """Note that an entry is in flight no more."""
        if entry is self._probe:
            self._probe = None

    def keep(self, entry: Entry) -> None:
        """Park the probe's lane again; its head has its own `due_at`."""
        self._parked[entry.scope].state = LaneState.PARKED
        self.next_probe_at = min(self.next_probe_at, entry.due_at)

    def pop(self, entry: Entry, now: float) -> None:
        """Take a parked head out of its lane, which stays parked and is tried again at once."""
        lane = self._lanes.pop(entry)
        if lane is None:
            del self._parked[entry.scope]
            return
        lane.state = LaneState.PARKED
        self.next_probe_at = min(self.next_probe_at, now)

    def release(self, expires_at: float) -> None:
        """Have every parked lane queue up again, oldest first: the quota is back."""
        for lane in self._parked.values():
            for entry in lane.entries:
                self._ledger.unpark(entry, expires_at)
            if lane.state is LaneState.PARKED:
                self._lanes.release(lane)
        self._parked.clear()
