"""What an outage costs a chat, in seconds of waiting, and how soon memory is back when the service heals.

The service accepts connections and never answers. Run: python -m benchmarks.outage_cost
"""

import time
from collections.abc import Callable, Iterator

from benchmarks.chats import QUESTION, agent_named, memory_at, recall_hook, says_yes
from benchmarks.harness import Figure, Options, options, report
from benchmarks.raw_backend import Behaviour, RawBackend, raw_backend
from memotel.config import BreakerPolicy
from memotel.policy.breaker import Admission, CircuitBreaker, Verdict

BUDGET_S = 1.2
MODEL_S = 0.2
TURNS = 50
LIMIT_S = 3 * BUDGET_S + 0.1
HEALED_S = 12.0
LONG_S = 600.0


def outage(
    backend: RawBackend, label: str, is_over: Callable[[int, float], bool]
) -> tuple[float, float, int]:
    """Chat through an outage; return the seconds stalled, the seconds until memory is back, and the turns."""
    agent = agent_named("assistant", says_yes)
    memory = memory_at(backend.url, label, recall_timeout=BUDGET_S)
    memory.add_to_agent(agent)
    recall = recall_hook(agent)
    assert recall() != QUESTION, "the service must be well before it fails"
    backend.behave(Behaviour(is_hung=True))
    began, stalled_s, turns = time.monotonic(), 0.0, 0
    while not is_over(turns, time.monotonic() - began):
        started = time.monotonic()
        recall()
        stalled_s += time.monotonic() - started
        turns += 1
        time.sleep(MODEL_S)
    backend.behave(Behaviour())
    healed_s = until_enriched(recall)
    memory.client.close(0.0)
    return stalled_s, healed_s, turns


def until_enriched(recall: Callable[[], str], patience_s: float = 60.0) -> float:
    """Return the seconds until a turn is shown memory again."""
    began = time.monotonic()
    while recall() == QUESTION and time.monotonic() - began < patience_s:
        time.sleep(MODEL_S)
    return time.monotonic() - began


def on_a_fake_clock(seconds: float) -> tuple[float, float]:
    """Return what an outage of so many seconds would stall, and how long after it memory is back.

    The breaker is the real one; calls take no time but a budget each where they are let through.
    """
    circuit = CircuitBreaker(BreakerPolicy(), lambda: 0.999)
    now = stalled_s = 0.0
    while now < seconds:
        ticket = circuit.admit(now)
        if ticket.admission is Admission.ALLOWED:
            stalled_s += BUDGET_S
            now += BUDGET_S
            circuit.record(ticket, Verdict.TIMEOUT, now, budget_s=BUDGET_S)
        elif ticket.admission is Admission.PROBE:
            circuit.record(ticket, Verdict.TIMEOUT, now + BUDGET_S, budget_s=BUDGET_S)
        now += MODEL_S
    healed_at = now
    while (ticket := circuit.admit(now)).admission is not Admission.ALLOWED:
        if ticket.admission is Admission.PROBE:
            circuit.record(ticket, Verdict.SUCCESS, now, budget_s=BUDGET_S, duration_s=0.0)
        now += MODEL_S
    return stalled_s, now - healed_at


def figures(backend: RawBackend, asked: Options) -> Iterator[Figure]:
    """Measure each outage in turn."""
    outages: dict[str, Callable[[int, float], bool]] = {
        f"{TURNS}-turn chat": lambda turns, _: turns >= TURNS,
        "10 s": lambda _, seconds: seconds >= 10,
    }
    if not asked.quick:
        outages["60 s"] = lambda _, seconds: seconds >= 60
    for name, is_over in outages.items():
        stalled_s, healed_s, turns = outage(backend, name, is_over)
        yield Figure(f"{name}: stalled", stalled_s, "s", LIMIT_S, note=f"{turns} turns")
        yield Figure(f"{name}: memory back after", healed_s, "s", HEALED_S)
    stalled_s, healed_s = on_a_fake_clock(LONG_S)
    yield Figure("10 minutes on a fake clock: stalled", stalled_s, "s", LIMIT_S)
    yield Figure("10 minutes on a fake clock: memory back after", healed_s, "s", HEALED_S)


def main() -> None:
    """Measure and print."""
    asked = options(__doc__)
    with raw_backend() as backend:
        found = list(figures(backend, asked))
    remark = f"Budget {BUDGET_S} s, a model that takes {MODEL_S} s; an outage is silent from its first turn on."
    report("What an outage costs", found, asked, [remark])


if __name__ == "__main__":
    main()
