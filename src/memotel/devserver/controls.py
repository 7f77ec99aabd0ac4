"""The faults of a server, as a test sets them."""

import time
from collections.abc import Callable

from memotel.devserver.faults import Fault
from memotel.devserver.world import World

Change = Callable[[], None]


class Faults:
    """Sets and clears faults. When a method returns, the change is in force.

    Faults act together: delays add up, then the first other one in the order of adding decides.
    """

    def __init__(self, world: World, apply: Callable[[Change], None]) -> None:
        self._world = world
        self._apply = apply

    def set(self, *faults: Fault) -> None:
        """Put these faults in force instead of all others."""
        self._apply(lambda: self._world.faults.set(faults, time.monotonic()))

    def add(self, fault: Fault) -> None:
        """Put one more fault in force."""
        self._apply(lambda: self._world.faults.add(fault, time.monotonic()))

    def clear(self) -> None:
        """Be healthy again. Requests that hang stay unanswered."""
        self.set()

    def in_force(self) -> tuple[Fault, ...]:
        """Return the faults whose time is not over."""
        return self._world.faults.in_force(time.monotonic())
