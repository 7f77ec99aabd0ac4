"""What the demo measures: how long a person waited for memory before the model was asked, and who got right answers."""

import threading
from dataclasses import dataclass, field
from statistics import quantiles


@dataclass(frozen=True, slots=True)
class Waits:
    """Waits of the turns so far, in seconds."""

    turns: int = 0
    p50_s: float = 0.0
    p99_s: float = 0.0
    max_s: float = 0.0


@dataclass(slots=True)
class Meter:
    """Counts turns. Thread-safe."""

    asked: int = 0
    remembered: int = 0
    broken: int = 0
    _waits_s: list[float] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def turn(self, wait_s: float, *, is_remembered: bool | None) -> None:
        """Count a turn that was answered; `is_remembered` is None where nothing was asked of memory."""
        with self._lock:
            self._waits_s.append(wait_s)
            self.asked += is_remembered is not None
            self.remembered += is_remembered is True

    def failure(self) -> None:
        """Count a turn that was not answered."""
        with self._lock:
            self.broken += 1

    def waits(self) -> Waits:
        """Return the distribution of waits."""
        with self._lock:
            waits = sorted(self._waits_s)
        if len(waits) < 2:  # quantiles need two points
            return Waits(len(waits), *[max(waits, default=0.0)] * 3)
        cuts = quantiles(waits, n=100, method="inclusive")
        return Waits(len(waits), cuts[49], cuts[98], waits[-1])
