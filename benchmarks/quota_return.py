"""How many writes are stored in the end when the plan is used up for 200 turns and then lifted.

MemorySync says nothing of it: it answers, and stores nothing. Rekall answers an error. Counted at the service.
Run: python -m benchmarks.quota_return
"""

import time

from benchmarks.harness import Figure, Options, report
from benchmarks.service import Service, service
from benchmarks.writing import client_at, options, outbox_at, turns_of
from memotel.config import WritePolicy
from memotel.devserver import QuotaMode
from memotel.devserver import Service as Plan
from memotel.outcomes import Provider

TURNS = 200
SCOPES = 20
PARK_S = 60.0
LIMIT_S = 120.0
"""By default the plan is tried again each minute."""

QUICK_RECHECK_S = 2.0

PLANS = {
    Provider.MEMORYSYNC: (QuotaMode.SILENT, Plan.MEMORYSYNC),
    Provider.REKALL: (QuotaMode.STRICT, Plan.REKALL),
}


def use_up(
    server: Service, provider: Provider, outbox: str, policy: WritePolicy
) -> tuple[int, int, int, float]:
    """Return how many were stored while the plan was used up and how many waited then, how many after, and the seconds."""
    mode, plan = PLANS[provider]
    server.ask("reset")
    server.ask("set_quota", 0, mode, plan)
    turns = turns_of(TURNS, SCOPES)
    with client_at(server.url, outbox, provider=provider, writes=policy) as memory:
        for turn in turns:
            memory.write(turn)
        until = time.monotonic() + PARK_S
        while memory.stats().totals.parked < TURNS and time.monotonic() < until:
            time.sleep(0.05)
        waited, early = memory.stats().totals.parked, len(server.items())
        server.ask("set_quota", None, mode, plan)
        seconds = server.wait_for(TURNS, LIMIT_S)
        memory.flush(10.0)
    return early, waited, server.stored_once([turn.text for turn in turns]), seconds


def measured(server: Service, asked: Options, outbox: str) -> list[Figure]:
    """Measure both services with one kind of outbox."""
    policy = WritePolicy(quota_recheck_s=QUICK_RECHECK_S) if asked.quick else WritePolicy()
    found = []
    for provider, (mode, _) in PLANS.items():
        with outbox_at(outbox) as place:
            early, waited, stored, seconds = use_up(server, provider, place, policy)
        name = f"{outbox}, {provider.value}, {mode.value}"
        of = f"of {TURNS}"
        found += [
            Figure(f"{name}: stored before", early, of, 0),
            Figure(f"{name}: waiting", waited, of, TURNS, is_least=True),
            Figure(f"{name}: stored after", stored, of, TURNS, is_least=True),
            Figure(f"{name}: all there after", seconds, "s", LIMIT_S),
        ]
    return found


def main() -> None:
    """Measure and print."""
    asked, outboxes = options(__doc__)
    with service() as server:
        found = [figure for outbox in outboxes for figure in measured(server, asked, outbox)]
    report("A quota that returns", found, asked, [f"{TURNS} turns over {SCOPES} sessions."])


if __name__ == "__main__":
    main()
