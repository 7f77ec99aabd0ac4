"""The absolute deadline: the monotonic instant at which a call ends, and how code below learns it."""

import time
from contextvars import ContextVar
from dataclasses import dataclass

monotonic = time.monotonic


@dataclass(frozen=True, slots=True)
class Deadline:
    """A monotonic instant, in seconds of `time.monotonic`."""

    at: float

    @classmethod
    def after(cls, budget_s: float) -> "Deadline":
        """The instant `budget_s` seconds from now."""
        return cls(monotonic() + budget_s)

    def remaining_s(self) -> float:
        """Seconds left; zero or less once it has passed."""
        return self.at - monotonic()

    def has_passed(self) -> bool:
        """Whether the instant lies behind us."""
        return monotonic() >= self.at


current_deadline: ContextVar[Deadline | None] = ContextVar("memotel_deadline", default=None)
"""The deadline of the work that runs in this context; the network backend clamps every wait to it."""
