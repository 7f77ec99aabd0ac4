"""How long a service asks us to wait: `Retry-After` in seconds or as a date, else the body's word."""

import math
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Final

from memotel.http.messages import HttpResponse
from memotel.values import Json

Clock = Callable[[], float]
"""Gives unix seconds; asked only where a date comes without the answer's own `Date`."""

MAX_WAIT_S: Final = 32 * 86_400.0
"""A longer wait reads as this: a month and a day, the longest that a plan can ask for."""


def retry_after_s(response: HttpResponse, in_body: Json, clock: Clock) -> float | None:
    """Return the seconds to wait, from 0 to `MAX_WAIT_S`; None where the service says nothing usable.

    A date is read against the answer's own `Date` header, so that two clocks that differ do not
    matter; `clock` stands in where that header is missing.
    """
    header = response.headers.get("retry-after", "").strip()
    for wait_s in (_seconds(header), _until(header, response, clock), _seconds(in_body)):
        if wait_s is not None:
            return min(max(wait_s, 0.0), MAX_WAIT_S)
    return None


def _seconds(value: Json) -> float | None:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    try:
        seconds = float(value)
    except ValueError:
        return None
    return None if math.isnan(seconds) else seconds


def _until(header: str, response: HttpResponse, clock: Clock) -> float | None:
    then = _instant(header)
    if then is None:
        return None
    now = _instant(response.headers.get("date", ""))
    return then - (clock() if now is None else now)


def _instant(date: str) -> float | None:
    """Return the unix seconds of an HTTP date, or None."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
