"""The alerts that no fault of the game day raises, on real processes under a real Prometheus: each begins, and none cries wolf."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_process import PrometheusServer, Sample, running_prometheus
from rule_files import RULES, RUNBOOKS
from unmeasured import unmeasured

from memotel.devserver import DevServer, Fault

PRELUDE = """
import sys
from resource import RLIM_INFINITY, RLIMIT_FSIZE, setrlimit
from memotel import Adapter, MemoryClient, Provider, Scope, Speaker, Turn, resolve
from memotel.config import OutboxPolicy
from memotel.telemetry import setup

URL, OUTBOX = sys.argv[1:]
exporter = setup(service_name="bot", prometheus_port=0)

def client(**policy):
    outbox = OutboxPolicy(**policy)
    return MemoryClient(
        resolve(Provider.MEMORYSYNC, Adapter.DIRECT, url=URL, api_key="ms_1", outbox_policy=outbox)
    )

def say(memory, writes, length=10):
    for number in range(writes):
        text = "x" * length + str(number)
        memory.write(Turn(Scope("ada", "s"), Speaker.HUMAN, text, source="test"))

def ready():
    print(f"{exporter.host}:{exporter.port}", flush=True)
    sys.stdin.readline()
"""
# The kernel refuses to let a file grow, as a full disk would.
FULL_DISK = """
memory = client(url=OUTBOX, adopt_interval_s=0.1)
setrlimit(RLIMIT_FSIZE, (64_000, RLIM_INFINITY))
say(memory, 20, length=10_000)
ready()
setrlimit(RLIMIT_FSIZE, (RLIM_INFINITY, RLIM_INFINITY))
sys.stdin.readline()
"""
NEARLY_FULL = """
memory = client(max_writes=10)
say(memory, 9)
ready()
"""
SWITCHED_OFF = """
memory = client()
say(memory, 1)
ready()
"""
SEEN_S = 60.0
RAISED = 'ALERTS{component="memotel", alertname!="TelemetryAbsent"}'
"""Pending ones too: a hold of minutes is for the rules' own tests. A scrape that a busy machine misses is no finding."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A process, "host:port" of its metrics, and the Prometheus with the rules that watches it."""

    process: "subprocess.Popen[str]"
    address: str
    server: PrometheusServer

    def alert(self, name: str) -> list[Sample]:
        """Return the series of an alert as soon as there are any."""
        return self.server.wait_for_series(f'ALERTS{{alertname="{name}"}}', SEEN_S)

    def raised(self) -> set[str]:
        """Return the names of all alerts that are pending or firing."""
        return {sample.labels["alertname"] for sample in self.server.query(RAISED)}

    def go_on(self) -> None:
        """Have the process do what comes next."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()


@contextmanager
def watched(folder: Path, body: str, **environment: str) -> Iterator[Watched]:
    """Run a process whose service is down; it is killed when the block ends."""
    with DevServer() as service:
        service.faults.set(Fault("refuse"))
        process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + body, service.url, f"sqlite://{folder / 'outbox'}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**unmeasured(), **environment},
        )
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address, "the process ended at once"
            with running_prometheus(folder / "p", [address], rules=RULES) as server:
                yield Watched(process, address, server)
        finally:
            process.kill()
            process.communicate(timeout=30)


def first_queries(name: str, count: int) -> list[str]:
    """Return the first queries of an alert's page."""
    text = (RUNBOOKS / f"{name}.md").read_text()
    found = re.findall(r"```promql\n(.*?)```", text, re.DOTALL)
    return [textwrap.dedent(query).strip() for query in found[:count]]


def test_a_full_disk_raises_outbox_degraded_until_it_has_room(tmp_path: Path) -> None:
    with watched(tmp_path, FULL_DISK) as it:
        (alert,) = it.alert("OutboxDegraded")
        where = {"instance": it.address, "provider": "memorysync"}
        assert {**where, "severity": "warning"}.items() <= alert.labels.items()

        ((failing,), (at_stake,)) = map(it.server.query, first_queries("OutboxDegraded", 2))
        assert where.items() <= failing.labels.items()
        assert where.items() <= at_stake.labels.items()
        assert (failing.value, at_stake.value) == (1, 20)
        assert it.raised() == {"OutboxDegraded"}

        it.go_on()
        it.server.wait_until(lambda _: it.raised() == set(), SEEN_S)
        assert it.server.query("memotel_outbox_degraded != 0") == []


def test_nine_of_ten_places_taken_raise_outbox_near_full_alone(tmp_path: Path) -> None:
    with watched(tmp_path, NEARLY_FULL) as it:
        (alert,) = it.alert("OutboxNearFull")
        assert {"instance": it.address, "severity": "critical"}.items() <= alert.labels.items()
        (pending,) = it.server.query('memotel_outbox_pending{provider="memorysync"}')
        assert pending.value == 9
        assert it.raised() == {"OutboxNearFull"}


def test_a_process_that_is_switched_off_raises_memory_disabled_alone(tmp_path: Path) -> None:
    with watched(tmp_path, SWITCHED_OFF, MEMOTEL_DISABLED="all") as it:
        alerts = it.alert("MemoryDisabled")
        assert {sample.labels["part"] for sample in alerts} == {"recall", "writes"}
        (query,) = first_queries("MemoryDisabled", 1)
        assert {sample.labels["part"] for sample in it.server.query(query)} == {"recall", "writes"}
        assert it.raised() == {"MemoryDisabled"}
