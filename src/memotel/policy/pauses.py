"""Reasons to hold calls back that the service itself gave: a rejected credential, a rate limit. Pure."""

from dataclasses import dataclass


@dataclass(slots=True)
class CredentialLatch:
    """Closed by a rejected credential; lets one call a `recheck_s` through until one is accepted."""

    recheck_s: float = 60.0
    is_rejected: bool = False
    next_check_at: float = 0.0

    def reject(self, now: float) -> bool:
        """Latch; return True where this is news."""
        is_news = not self.is_rejected
        self.is_rejected = True
        self.next_check_at = now + self.recheck_s
        return is_news

    def accept(self) -> bool:
        """A call was let in: unlatch; return True where this is news."""
        was_rejected = self.is_rejected
        self.is_rejected = False
        return was_rejected

    def lets_through(self, now: float) -> bool:
        """Whether a call at `now` may go out; where the latch is closed this takes the minute's one check."""
        if not self.is_rejected:
            return True
        if now < self.next_check_at:
            return False
        self.next_check_at = now + self.recheck_s
        return True


@dataclass(slots=True)
class RatePause:
    """Holds calls back until the time that a 429 named."""

    default_s: float = 1.0
    max_s: float = 3_600.0
    until: float = 0.0

    def limit(self, now: float, retry_after_s: float | None) -> None:
        """Take a 429; a missing Retry-After counts as `default_s`."""
        wait_s = self.default_s if retry_after_s is None else retry_after_s
        self.until = max(self.until, now + min(wait_s, self.max_s))

    def wait_s(self, now: float) -> float:
        """Seconds for which calls are held back, 0 for none."""
        return max(0.0, self.until - now)
