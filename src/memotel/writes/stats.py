"""The figures of one account's writes."""

from dataclasses import dataclass

from memotel.writes.books import Totals


@dataclass(frozen=True, slots=True)
class WriteStats:
    """A write path at one instant: the books, and what the drain is doing."""

    totals: Totals
    in_flight: int
    in_flight_limit: int
    dead_letters: int
    is_credentials_rejected: bool
    is_closed: bool
