"""The two clocks of the write path, injected so that tests can turn them."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from memotel.deadline import monotonic


@dataclass(frozen=True, slots=True)
class Clocks:
    """The two clocks: monotonic seconds for waiting, wall-clock seconds for what is stored."""

    monotonic: Callable[[], float] = monotonic
    wall: Callable[[], float] = time.time
