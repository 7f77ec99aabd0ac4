"""What an outbox on disk needs of the write path that it serves, to take writes over and to look after its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memotel.counts import Counts
from memotel.outcomes import Provider, WriteOutcome
from memotel.writes.identity import Sightings

if TYPE_CHECKING:
    from memotel.writes.ledger import Ledger
    from memotel.writes.outbox import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One account's write path, as its outbox sees it. Everything is thread-safe.

    Attributes:
        account: account key.
        provider: its service.
        counts: the process's counters.
        ledger: its books.
        sightings: learns the keys that were adopted, so that a redelivery is recognised.
        max_parked: how many writes may wait for a quota.
        plan: puts an adopted entry into the schedule; called under the ledger's lock.
        wake: has the drain look at what there is.
        end: ends an entry.
        monotonic: the clock that entries expire by.
    """

    account: str
    provider: Provider
    counts: Counts
    ledger: "Ledger"
    sightings: Sightings
    max_parked: int
    plan: "Callable[[Entry], object]"
    wake: Callable[[], object]
    end: "Callable[[Entry, WriteOutcome, str], object]"
    monotonic: Callable[[], float]
