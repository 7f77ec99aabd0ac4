"""What happens when a write ends: it is counted, its key forgotten unless it is kept, and whoever waits is told."""

from collections.abc import Callable

from memotel.errors import ServiceError
from memotel.outcomes import WriteOutcome
from memotel.values import Write
from memotel.writes.books import KEPT
from memotel.writes.identity import Sightings
from memotel.writes.ledger import Ledger
from memotel.writes.notices import WriteNotices
from memotel.writes.outbox import Entry
from memotel.writes.waiting import Deliveries

ANSWERED = "answer"
"""The cause of an end that the service's own answer brought."""


class Endings:
    """Ends entries, each once. Thread-safe.

    Args:
        sightings: forgets what was not kept, so that it is written when it is said again.
        deliveries: tells those who wait for one write.
        notices: says what was rejected.
        on_unsent_end: called with each write that ended without a send of its own.
    """

    def __init__(
        self,
        *,
        sightings: Sightings,
        deliveries: Deliveries,
        notices: WriteNotices,
        on_unsent_end: Callable[[Write, WriteOutcome], object],
    ) -> None:
        self._sightings = sightings
        self._deliveries = deliveries
        self._notices = notices
        self._on_unsent_end = on_unsent_end

    def end(self, ledger: Ledger, entry: Entry, outcome: WriteOutcome, cause: str) -> None:
        """End an entry; nothing happens where it had ended already."""
        is_rejected = outcome is WriteOutcome.REJECTED
        said = _said(entry, cause) if is_rejected else cause
        if not ledger.end(entry, outcome, said):
            return
        if not entry.is_in_flight:
            self._on_unsent_end(entry.write, outcome)
        if outcome not in KEPT:
            self._sightings.forget(entry.write.key)
        if is_rejected:
            self._notices.rejected(said)
        self._deliveries.tell(entry, outcome)


def _said(entry: Entry, cause: str) -> str:
    """Say in a few words, none of them the user's, why a write was rejected."""
    error = entry.error
    if not isinstance(error, ServiceError):
        return cause
    parts = (f"status {error.status_code}", error.code, error.request_id, cause)
    return ", ".join(part for part in parts if part and part != ANSWERED)
