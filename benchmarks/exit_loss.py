"""How many writes reach the service when a script writes them and simply ends: no flush, no close.

The service takes 20 ms for each. Counted at the service once the script's process is gone. Run: python -m benchmarks.exit_loss
"""

import subprocess
import sys
import time

from benchmarks.harness import Figure, Options, report
from benchmarks.service import Service, service
from benchmarks.writing import client_at, options, outbox_at, turns_of
from memotel.devserver import Fault

TURNS = 100
SPREADS = (10, 1)
SERVICE_S = 0.02
LIMIT_S = 5.5
"""The drain at exit may take 5 s, and the interpreter a moment."""


def script(url: str, outbox: str, scopes: int) -> None:
    """Write the turns and return; runs in the child, whose main ends after it."""
    memory = client_at(url, outbox)
    for turn in turns_of(TURNS, scopes):
        memory.write(turn)
    print(time.time())  # told to the parent: the exit begins


def leave(server: Service, outbox: str, scopes: int) -> tuple[int, float]:
    """Run the script; return how many turns are stored once when it is gone, and the seconds its exit took."""
    server.ask("reset")
    server.fail(Fault("delay", "writes", delay_s=SERVICE_S))
    call = f"from benchmarks.exit_loss import script; script({server.url!r}, {outbox!r}, {scopes})"
    command = (sys.executable, "-c", call)
    ended = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=60
    )  # our own script
    exit_s = time.time() - float(ended.stdout)
    return server.stored_once([turn.text for turn in turns_of(TURNS, scopes)]), exit_s


def measured(server: Service, asked: Options, outbox: str) -> list[Figure]:
    """Measure with one kind of outbox."""
    found = []
    for scopes in SPREADS:
        runs = []
        for _ in range(asked.of(5, 1)):
            with outbox_at(outbox) as place:
                runs.append(leave(server, place, scopes))
        name = f"{outbox}, {scopes} session{'s' if scopes > 1 else ''}"
        fewest, longest = min(once for once, _ in runs), max(seconds for _, seconds in runs)
        runs_said = f"the worst of {len(runs)} runs"
        found.append(
            Figure(f"{name}: stored", fewest, f"of {TURNS}", TURNS, is_least=True, note=runs_said)
        )
        found.append(Figure(f"{name}: exit took", longest, "s", LIMIT_S))
    return found


def main() -> None:
    """Measure and print."""
    asked, outboxes = options(__doc__)
    with service() as server:
        found = [figure for outbox in outboxes for figure in measured(server, asked, outbox)]
    remark = f"{TURNS} turns; {SERVICE_S * 1e3:g} ms a write at the service."
    report("Writes at a script's end", found, asked, [remark])


if __name__ == "__main__":
    main()
