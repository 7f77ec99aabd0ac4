"""What the evidence says of an account's plan: ok, limited until, or silently over. Pure."""

import threading
from collections.abc import Callable

from memotel.outcomes import QuotaEvidence, QuotaState

DEFAULT_LIMITED_S = 60.0
"""How long a strict quota stands where the service names no time."""


class QuotaMachine:
    """One account's quota state. An empty recall proves nothing; only evidence changes the state.

    Args:
        on_change: called with (old state, new state), outside the lock.
    """

    def __init__(
        self, on_change: Callable[[QuotaState, QuotaState], None] = lambda *_: None
    ) -> None:
        self._lock = threading.Lock()
        self._state = QuotaState.OK
        self._limited_until = 0.0
        self._is_limited_by_write = False
        self._on_change = on_change

    def state(self, now: float) -> QuotaState:
        """Return the state at `now`; a strict limit ends by itself."""
        with self._lock:
            if self._state is QuotaState.LIMITED and now >= self._limited_until:
                return QuotaState.OK
            return self._state

    def observe(
        self,
        evidence: QuotaEvidence,
        now: float,
        retry_after_s: float | None = None,
        *,
        is_write: bool = False,
    ) -> None:
        """Take one piece of evidence; `is_write` says that a write gave it.

        A limit on writes says nothing of recalls, so a recall that works does not end it.
        """
        with self._lock:
            before = self._state
            self._take(evidence, now, retry_after_s, is_write=is_write)
            after = self._state
        if after is not before:
            self._on_change(before, after)

    def _take(
        self, evidence: QuotaEvidence, now: float, retry_after_s: float | None, *, is_write: bool
    ) -> None:
        if evidence is QuotaEvidence.STRICT:
            self._limited_until = now + (
                DEFAULT_LIMITED_S if retry_after_s is None else retry_after_s
            )
            self._is_limited_by_write = is_write
            self._state = QuotaState.LIMITED
        elif evidence is QuotaEvidence.SILENT:
            self._state = QuotaState.SILENT
        elif is_write or self._state is not QuotaState.LIMITED or not self._is_limited_by_write:
            self._state = QuotaState.OK
