"""The gauge that an alert watches: it shows what the books cannot account for, and zero only where they balance."""

import pytest
from scripted_service import turn

from memotel.counts import Counts, Gauge
from memotel.outcomes import Adapter, Provider
from memotel.values import Write
from memotel.writes.ledger import Ledger
from memotel.writes.outbox import Entry, MemoryOutbox
from memotel.writes.stats import outbox_gauges


class Leaky(MemoryOutbox):
    """An outbox that loses each second write: such a fault must not stay unseen."""

    def put(self, write: Write, expires_at: float, size: int) -> Entry | None:
        entry = super().put(write, expires_at, size)
        if entry is not None and entry.seq % 2 == 0:
            del self._waiting[entry.seq]
        return entry


@pytest.mark.parametrize(
    ("outbox", "missing"), [(MemoryOutbox(), 0.0), (Leaky(), 3.0)], ids=["whole", "leaky"]
)
def test_writes_that_are_missing_are_shown(outbox: MemoryOutbox, missing: float) -> None:
    ledger = Ledger(Counts(), Provider.REKALL, outbox, max_writes=100, max_bytes=10**6)
    for number in range(6):
        write = Write(turn(str(number)), f"{number}", "account", 0.0, Adapter.DIRECT)
        ledger.accept(write, 1e9, lambda _: None)

    shown = {name: value for name, _, value in outbox_gauges(Provider.REKALL, ledger, 100, 0.0)}

    assert shown[Gauge.UNACCOUNTED] == missing
