"""What a service says of its rate limit, on any answer: `X-RateLimit-*`."""

import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Final

from memotel.http.messages import HttpResponse

_MAX_DIGITS: Final = 15
_POLICY: Final = re.compile(r"\s*([0-9]{1,15})\s*;\s*w\s*=\s*([0-9]{1,15})\s*")


@dataclass(frozen=True, slots=True)
class Pace:
    """An account's rate limit as one answer told it; None where it told nothing.

    Attributes:
        limit: requests allowed per window.
        remaining: requests left in this window.
        reset_at_s: unix seconds at which the window ends.
        window_s: length of the window in seconds (`1000;w=60` is 60).
        date_s: unix seconds of the answer by the service's own clock, where it says.
    """

    limit: int | None = None
    remaining: int | None = None
    reset_at_s: int | None = None
    window_s: int | None = None
    date_s: int | None = None

    def resets_at(self, now: float) -> float | None:
        """Return when the window ends by the clock that reads `now`, which may differ from the service's."""
        if self.reset_at_s is None or self.date_s is None:
            return self.reset_at_s
        return now + self.reset_at_s - self.date_s


def read_pace(response: HttpResponse) -> Pace | None:
    """Return the rate limit that the headers tell; None where they tell none."""
    headers = response.headers
    window_limit, window_s = _policy(headers.get("x-ratelimit-policy"))
    limit = _whole(headers.get("x-ratelimit-limit"))
    reset_at_s = _whole(headers.get("x-ratelimit-reset"))
    pace = Pace(
        limit=window_limit if limit is None else limit,
        remaining=_whole(headers.get("x-ratelimit-remaining")),
        reset_at_s=reset_at_s,
        window_s=window_s,
        date_s=None if reset_at_s is None else _date(headers.get("date", "")),
    )
    return None if pace == _NOTHING else pace


def _whole(value: str | None) -> int | None:
    """Return a whole number, of a fraction the whole below; None for anything else."""
    digits = (value or "").strip().partition(".")[0]
    is_number = digits.isdecimal() and digits.isascii() and len(digits) <= _MAX_DIGITS
    return int(digits) if is_number else None


@lru_cache(8)
def _date(text: str) -> int | None:
    """Return the unix seconds of an HTTP date; None for anything else."""
    try:
        return int(parsedate_to_datetime(text).timestamp())
    except (TypeError, ValueError, OverflowError):
        return None


def _policy(value: str | None) -> tuple[int | None, int | None]:
    """Return limit and window of the first policy in a header such as `1000;w=60`."""
    found = _POLICY.match(value) if value else None
    return (int(found[1]), int(found[2])) if found else (None, None)


_NOTHING: Final = Pace()
