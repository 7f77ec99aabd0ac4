"""The processes of a game day: the agents of each fault, and one Prometheus with the committed rules over all of them."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_process import PrometheusServer, pause, serving
from tools.game_day.faults import FAULTS, GameFault

ROOT = Path(__file__).parents[2]
RULES = ROOT / "dashboards" / "rules" / "memotel.rules.yml"
SCRAPE_S = 5
START_S = 180.0
"""Ten interpreters import two frameworks each, on however few processors there are."""
DAY_S = 3600 * 4
_METRICS = re.compile(r"^metrics on (\S+)$", re.MULTILINE)
_STRUCK = re.compile(r"^struck at (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents of one fault: where their log is, and their process."""

    fault: GameFault
    log: Path
    process: "subprocess.Popen[bytes]"

    @property
    def address(self) -> str:
        """Where their metrics are; waits for it."""
        return self._said(_METRICS)

    @property
    def struck_at(self) -> float | None:
        """When the fault began, in seconds since 1970; None as long as it did not."""
        found = _STRUCK.search(self.log.read_text())
        return float(found[1]) if found else None

    def _said(self, pattern: re.Pattern[str]) -> str:
        deadline = time.monotonic() + START_S
        while (found := pattern.search(self.log.read_text())) is None:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(
                    f"{self.fault.name} does not run: {self.log.read_text()[-2000:]}"
                )
            pause()
        return found[1]


@contextmanager
def agents_of_all_faults(folder: Path, healthy_s: float) -> Iterator[list[Agents]]:
    """Run the agents of every fault side by side until the block ends."""
    with ExitStack() as stack:
        yield [stack.enter_context(_agents(fault, folder, healthy_s)) for fault in FAULTS]


@contextmanager
def _agents(fault: GameFault, folder: Path, healthy_s: float) -> Iterator[Agents]:
    log = folder / f"{fault.name}.log"
    command = [sys.executable, "-m", "tools.game_day", "agents", fault.name, str(healthy_s)]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, cwd=ROOT)  # noqa: S603 # our own module and arguments
    try:
        yield Agents(fault, log, process)
    finally:
        process.kill()
        process.wait()


@contextmanager
def prometheus_over(
    folder: Path, addresses: Mapping[str, str], yesterday: Mapping[str, float]
) -> Iterator[PrometheusServer]:
    """Run Prometheus with the committed rules as they are, one job for each fault.

    `yesterday`: the hit ratio by provider that the job `amnesia` is given as its last day, for a day cannot be waited for.
    """
    folder.mkdir()
    _write_history(folder, yesterday)
    config = {
        "global": {"scrape_interval": f"{SCRAPE_S}s", "scrape_timeout": f"{SCRAPE_S}s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": [address]}]}
            for job, address in addresses.items()
        ],
    }
    with serving(folder, json.dumps(config)) as server:
        yield server


def _write_history(folder: Path, yesterday: Mapping[str, float]) -> None:
    now = int(time.time())
    lines = ["# TYPE memotel:recall_hits:ratio_rate1d gauge"]
    lines += [
        f'memotel:recall_hits:ratio_rate1d{{job="amnesia",provider="{provider}"}} {share} {at}'
        for provider, share in yesterday.items()
        for at in range(now - DAY_S, now - 600, 60)
    ]
    text = folder / "yesterday.txt"
    text.write_text("\n".join([*lines, "# EOF", ""]))
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text)]
    subprocess.run([*command, str(folder / "data")], check=True, capture_output=True)  # noqa: S603 # our own arguments
