"""What a service says of its rate limit, on any answer: `X-RateLimit-*`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memotel.http.messages import HttpResponse

_WHOLE: Final = re.compile(r"\s*([0-9]{1,15})(?:\.[0-9]{1,9})?\s*")
_POLICY: Final = re.compile(r"\s*([0-9]{1,15})\s*;\s*w\s*=\s*([0-9]{1,15})\s*")


@dataclass(frozen=True, slots=True)
class Pace:
    """An account's rate limit as one answer told it; None where it told nothing.

    Attributes:
        limit: requests allowed per window.
        remaining: requests left in this window.
        reset_at_s: unix seconds at which the window ends.
        window_s: length of the window in seconds (`1000;w=60` is 60).
    """

    limit: int | None = None
    remaining: int | None = None
    reset_at_s: int | None = None
    window_s: int | None = None


def read_pace(response: HttpResponse) -> Pace | None:
    """Return the rate limit that the headers tell; None where they tell none."""
    headers = response.headers
    policy = _POLICY.match(headers.get("x-ratelimit-policy", ""))
    limit = _whole(headers, "x-ratelimit-limit")
    pace = Pace(
        limit=int(policy[1]) if limit is None and policy else limit,
        remaining=_whole(headers, "x-ratelimit-remaining"),
        reset_at_s=_whole(headers, "x-ratelimit-reset"),
        window_s=int(policy[2]) if policy else None,
    )
    return None if pace == Pace() else pace


def _whole(headers: Mapping[str, str], name: str) -> int | None:
    found = _WHOLE.fullmatch(headers.get(name, ""))
    return int(found[1]) if found else None
