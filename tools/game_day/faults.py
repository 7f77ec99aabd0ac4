"""The ten faults of a game day: what is done to the service, and where a person on call would see the cause."""

from collections.abc import Callable
from dataclasses import dataclass

from memotel.devserver import DevServer, Fault, FaultKind

NOTHING_FOUND = {
    "memorysync.recall": '{"context": "", "memories": []}',
    "memorysync.query": '{"memories": []}',
    "rekall.search": '{"memories": []}',
}
"""A healthy answer without memories, by the route that gives it."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The panel that shows the cause: the board's uid, the panel's id, and which of its queries."""

    board: str
    panel: int
    query: int = 0


@dataclass(frozen=True, slots=True)
class GameFault:
    """One fault.

    Attributes:
        name: also the job under which its agents are scraped.
        what: what happens, for the page.
        strike: what is done to the service; None: the agents' process is ended instead.
        alert: the alert that must fire.
        cause: where the cause shows.
        reading: what the value says.
        is_from_the_start: whether the agents never knew better times, as after a release that broke something.
    """

    name: str
    what: str
    strike: Callable[[DevServer], None] | None
    alert: str
    cause: Cause
    reading: str
    is_from_the_start: bool = False


def _struck_by(*faults: Fault) -> Callable[[DevServer], None]:
    return lambda server: server.faults.set(*faults)


FAULTS = (
    GameFault(
        "hang",
        "Both services accept every request and never answer.",
        _struck_by(Fault(FaultKind.HANG)),
        "RecallErrorBudgetBurn",
        Cause("memotel-recall", 24),
        "recalls per second that met their deadline, by where they were: they wait to `read` an answer",
    ),
    GameFault(
        "refuse",
        "Nobody listens any more: connections are refused.",
        _struck_by(Fault(FaultKind.REFUSE)),
        "RecallErrorBudgetBurn",
        Cause("memotel-protection", 4),
        "retries per second by cause: `connection`, so nothing is reached at all",
    ),
    GameFault(
        "errors",
        "Both services answer 500 to everything.",
        _struck_by(Fault(FaultKind.STATUS, status=500)),
        "RecallErrorBudgetBurn",
        Cause("memotel-protection", 4),
        "retries per second by cause: `status`, so the service answers, and its answer is an error",
    ),
    GameFault(
        "slow",
        "Recalls are answered half a second late, within the budget of 1.2 s.",
        _struck_by(Fault(FaultKind.DELAY, "recalls", delay_s=0.5)),
        "RecallLatencyBudgetBurn",
        Cause("memotel-recall", 23),
        "seconds at the 99th percentile of recalls that were answered",
    ),
    GameFault(
        "rate-limit",
        "Recalls are answered 429.",
        _struck_by(Fault(FaultKind.RATE_LIMIT, "recalls")),
        "RecallErrorBudgetBurn",
        Cause("memotel-protection", 16),
        "recalls per second that ended as `rate_limited`",
    ),
    GameFault(
        "silent-quota",
        "MemorySync's plan is used up and it says nothing: recalls are empty, writes are not stored.",
        lambda server: server.set_quota(0),
        "SilentQuota",
        Cause("memotel-protection", 15),
        "operations per second that the plan degraded: `silent`, so no answer says it",
    ),
    GameFault(
        "key-rejected",
        "Both services answer 401: the key was revoked.",
        _struck_by(Fault(FaultKind.STATUS, status=401)),
        "KeyRejected",
        Cause("memotel-overview", 6),
        "accounts whose key is not accepted",
    ),
    GameFault(
        "writes-rejected",
        "Recalls work; every write is answered 422.",
        _struck_by(Fault(FaultKind.STATUS, "writes", status=422)),
        "DeadLetters",
        Cause("memotel-writes", 15),
        "writes per second that are lost, by outcome: `rejected` for good",
    ),
    GameFault(
        "telemetry-gone",
        "The agents' process is gone, or cannot be scraped any more.",
        None,
        "TelemetryAbsent",
        Cause("memotel-protection", 31),
        "0 = the last scrape failed",
    ),
    GameFault(
        "amnesia",
        "A release asks for the wrong scope: every recall is answered, and none finds anything.",
        _struck_by(
            *(Fault(FaultKind.MALFORMED, route, body=body) for route, body in NOTHING_FOUND.items())
        ),
        "SilentAmnesia",
        Cause("memotel-overview", 15),
        "share of the answered recalls that brought memories",
        is_from_the_start=True,
    ),
)
BY_NAME = {fault.name: fault for fault in FAULTS}
