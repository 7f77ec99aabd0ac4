"""`python -m tools.game_day`: ten faults under a real Prometheus, and docs/game-day.md from what it saw.

Needs prometheus and promtool. Takes about 20 minutes, most of them the holds of the alerts; light on the processors.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_process import PrometheusServer
from tools.game_day import agents, evidence, page
from tools.game_day.faults import BY_NAME
from tools.game_day.page import RECORD
from tools.game_day.watching import (
    ROOT,
    SCRAPE_S,
    Agents,
    agents_of_all_faults,
    prometheus_over,
)

HEALTHY_S = 150.0
MEASURED_S = 30.0
MOST_S = 25 * 60.0
LOOK_S = 10.0
AT_LEAST_S = 11 * 60.0
"""What comes late is worth seeing too: an outbox is stale after ten minutes."""


def main(arguments: Sequence[str]) -> int:
    """Return the exit status."""
    if arguments and arguments[0] == "agents":
        agents.watch(BY_NAME[arguments[1]], float(arguments[2]))
        return 0
    if arguments and arguments[0] == "measure":
        print(json.dumps(agents.measure(MEASURED_S)))
        return 0
    RECORD.write_text(json.dumps(record(), indent=2) + "\n")
    return page.main(())


def record() -> dict[str, Any]:
    """Run the game day; return what was seen."""
    yesterday = _measured()
    print(f"hit ratio of a healthy run: {yesterday}", flush=True)
    with (
        tempfile.TemporaryDirectory() as name,
        agents_of_all_faults(Path(name), HEALTHY_S) as running,
    ):
        addresses = {each.fault.name: each.address for each in running}
        with prometheus_over(Path(name) / "prometheus", addresses, yesterday) as server:
            _wait(server, running)
            return _record(server, running, yesterday)


def _measured() -> dict[str, float]:
    command = [sys.executable, "-m", "tools.game_day", "measure"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)  # noqa: S603 # our own module
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _wait(server: PrometheusServer, running: Sequence[Agents]) -> None:
    """Wait until the alert of each fault has fired and the late ones had their time, at most `MOST_S`."""
    began, said = time.time(), set[str]()
    while time.time() < began + MOST_S:
        for each in running:
            for alert in _fired(server, each):
                if (line := f"{each.fault.name}: {alert.name} after {alert.after_s} s") not in said:
                    said.add(line)
                    print(line, flush=True)
        missing = [
            each
            for each in running
            if each.fault.alert not in {alert.name for alert in _fired(server, each)}
        ]
        if not missing and time.time() > began + HEALTHY_S + AT_LEAST_S:
            return
        threading.Event().wait(LOOK_S)


def _fired(server: PrometheusServer, each: Agents) -> list[evidence.Fired]:
    struck_at = each.struck_at
    if struck_at is None:
        return []
    return evidence.fired(server, each.fault.name, struck_at, time.time())


def _record(
    server: PrometheusServer, running: Sequence[Agents], yesterday: dict[str, float]
) -> dict[str, Any]:
    now = time.time()
    found = [
        evidence.evidence_of(server, each.fault, each.struck_at, now)
        for each in running
        if each.struck_at is not None
    ]
    (highest,) = server.query("max(max_over_time(abs(memotel_writes_unaccounted)[30m:5s]))")
    build = server.api("status/buildinfo")
    assert isinstance(build, dict)  # noqa: S101 # the shape of Prometheus' own answer
    taken = {
        "taken": datetime.now(UTC).strftime("%d %B %Y"),
        "prometheus": build["version"].partition("+")[0],
        "scrape_s": SCRAPE_S,
        "healthy_s": HEALTHY_S,
        "pace": f"four conversations, a turn each {agents.PACE_S:g} s",
        "yesterday": yesterday,
        "unaccounted": highest.value,
    }
    written: dict[str, Any] = json.loads(evidence.written(taken, found))
    return written


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
