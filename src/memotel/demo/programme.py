"""The timed programme: what happens to the service, when, and what to watch."""

from collections.abc import Callable
from dataclasses import dataclass

from memotel.devserver import DevServer, Fault, FaultKind, QuotaMode, Service


@dataclass(frozen=True, slots=True)
class Phase:
    """One part of the programme: a share of its time, what is done to the service, and what to watch."""

    name: str
    share: float
    prepare: Callable[[DevServer], None]
    watch: str


def heal(server: DevServer) -> None:
    """Take every fault and quota away."""
    server.faults.clear()
    server.set_quota(None)
    server.set_quota(None, QuotaMode.STRICT, Service.REKALL)


def slow(server: DevServer) -> None:
    """Answer recalls late, some of them very late."""
    heal(server)
    server.faults.set(Fault(FaultKind.DELAY, "recalls", delay_s=0.15, sigma=0.8))


def over_quota(server: DevServer) -> None:
    """Use the plans up: MemorySync says nothing of it, Rekall answers an error."""
    heal(server)
    server.set_quota(0)
    server.set_quota(0, QuotaMode.STRICT, Service.REKALL)


def down(server: DevServer) -> None:
    """Accept every request and never answer."""
    heal(server)
    server.faults.set(Fault(FaultKind.HANG))


PROGRAMME = (
    Phase("healthy", 0.18, heal, "recalls hit, writes are stored"),
    Phase("slow", 0.18, slow, "recalls take longer, none longer than the budget"),
    Phase("silent quota", 0.2, over_quota, "outcome quota, never 'no memories'; writes are parked"),
    Phase("outage", 0.22, down, "a few timeouts, then the circuit opens: replies go on at once"),
    Phase("recovery", 0.22, heal, "one probe closes the circuit; what waited is delivered"),
)
