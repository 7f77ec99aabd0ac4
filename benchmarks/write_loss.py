"""How many writes reach the service when every first attempt fails, or the service is away for a while.

A hundred turns over 20 sessions for each way of failing, both services, each outbox. What was stored is what the service
has, in its process. Run: python -m benchmarks.write_loss
"""

import time
from dataclasses import dataclass

from benchmarks.harness import Figure, Options, report
from benchmarks.service import Service, service
from benchmarks.writing import client_at, options, outbox_at, turns_of
from memotel.devserver import Fault, Route
from memotel.outcomes import Provider

TURNS = 100
SCOPES = 20
STRUCK = 10
"""Of 429 and hanging only so many turns are struck: each of them holds all others up."""

WRITE_ROUTES = (Route.MEMORYSYNC_ADD_TURN, Route.REKALL_CREATE)

LIMIT_S = 45.0
AWAY_S = 3.0


@dataclass(frozen=True, slots=True)
class Mode:
    """One way of failing: the faults, and what is done once the turns were handed over."""

    name: str
    faults: tuple[Fault, ...] = ()
    is_down: bool = False


def first(kind: str, **fields: object) -> tuple[Fault, ...]:
    """Return the fault that strikes the first attempt of each write."""
    return (Fault(kind, "writes", first_attempt=True, **fields),)  # type: ignore[arg-type] # checked by Fault


MODES = (
    Mode("500 first", first("status", status=500)),
    Mode("503 first", first("status", status=503)),
    Mode("reset before a byte first", first("reset")),
    Mode("reset after it was stored first", first("reset", stored=True)),
    Mode(
        f"429 + Retry-After 1 first, {STRUCK} turns",
        first("rate_limit", retry_after_s=1.0, times=STRUCK),
    ),
    Mode(f"hangs first, {STRUCK} turns", first("hang", times=STRUCK)),
    Mode(f"refuses for {AWAY_S:g} s", (Fault("refuse", for_s=AWAY_S),)),
    Mode(f"hangs for {AWAY_S:g} s", (Fault("hang", for_s=AWAY_S),)),
    Mode("down at the start", is_down=True),
)


def lose(server: Service, mode: Mode, provider: Provider, outbox: str) -> tuple[int, int, float]:
    """Write the turns in one mode; return how many are stored once, how many requests that took, and the seconds."""
    server.ask("reset")
    server.fail(*mode.faults)
    if mode.is_down:
        server.ask("stop")
    turns = turns_of(TURNS, SCOPES)
    with client_at(server.url, outbox, provider=provider) as memory:
        began = time.monotonic()
        for turn in turns:
            memory.write(turn)
        if mode.is_down:
            time.sleep(AWAY_S)
            server.ask("start")
        server.wait_for(TURNS, LIMIT_S - (time.monotonic() - began))
        seconds = time.monotonic() - began
        memory.flush(10.0)  # whatever is on its way twice has arrived
    texts = [turn.text for turn in turns]
    once = server.stored_once(texts)
    requests = server.ask("state").requests
    return once, sum(requests[route] for route in WRITE_ROUTES), seconds


def measured(server: Service, asked: Options, outbox: str) -> list[Figure]:
    """Measure every mode with one kind of outbox."""
    found = []
    providers = (Provider.MEMORYSYNC,) if asked.quick else tuple(Provider)
    for provider in providers:
        for mode in MODES:
            with outbox_at(outbox) as place:
                once, requests, seconds = lose(server, mode, provider, place)
            name = f"{outbox}, {provider.value}: {mode.name}"
            in_time = once if seconds <= LIMIT_S else 0
            note = f"{requests} requests, {seconds:.1f} s"
            found.append(Figure(name, in_time, f"of {TURNS}", TURNS, is_least=True, note=note))
    return found


def main() -> None:
    """Measure and print."""
    asked, outboxes = options(__doc__)
    with service() as server:
        found = [figure for outbox in outboxes for figure in measured(server, asked, outbox)]
    remark = f"{TURNS} turns over {SCOPES} sessions each time; each must be there exactly once; late counts as lost. Counted at the service."
    report("Writes through failures", found, asked, [remark])


if __name__ == "__main__":
    main()
