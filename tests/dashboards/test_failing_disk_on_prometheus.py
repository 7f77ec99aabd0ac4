"""A process whose outbox lies on a disk that is full, under a real Prometheus: the alert begins, the runbook's queries answer, it ends."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_process import PrometheusServer, running_prometheus
from rule_files import RULES, RUNBOOKS

from memotel.devserver import DevServer, Fault

AGENT = textwrap.dedent(
    """
    import sys
    from resource import RLIM_INFINITY, RLIMIT_FSIZE, setrlimit
    from memotel import Adapter, MemoryClient, Provider, Scope, Speaker, Turn, resolve
    from memotel.config import OutboxPolicy
    from memotel.telemetry import setup

    url, folder = sys.argv[1:]
    exporter = setup(service_name="bot", prometheus_port=0)
    policy = OutboxPolicy(url=f"sqlite://{folder}", adopt_interval_s=0.1)
    memory = MemoryClient(
        resolve(Provider.MEMORYSYNC, Adapter.DIRECT, url=url, api_key="ms_1", outbox_policy=policy)
    )
    # The kernel refuses to let a file grow, as a full disk would.
    setrlimit(RLIMIT_FSIZE, (64_000, RLIM_INFINITY))
    for number in range(20):
        text = "x" * 10_000 + str(number)
        memory.write(Turn(Scope("ada", "s"), Speaker.HUMAN, text, source="test"))
    print(f"{exporter.host}:{exporter.port}", flush=True)
    sys.stdin.readline()
    setrlimit(RLIMIT_FSIZE, (RLIM_INFINITY, RLIM_INFINITY))
    sys.stdin.readline()
    """
)
ALERT = 'ALERTS{alertname="OutboxDegraded"}'
MENDED = 'memotel_outbox_degraded{provider="memorysync"} == 0'
SEEN_S = 60.0


@dataclass(frozen=True, slots=True)
class Agent:
    """The process, and "host:port" of its metrics."""

    process: "subprocess.Popen[str]"
    address: str

    def mend_disk(self) -> None:
        """Let files grow again."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()


@contextmanager
def running_agent(url: str, folder: Path) -> Iterator[Agent]:
    """Run a process that accepts more than its disk takes; it is killed when the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", AGENT, url, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "the agent ended at once"
        yield Agent(process, address)
    finally:
        process.kill()
        process.communicate(timeout=30)


def first_queries() -> list[str]:
    """Return the first two queries of the runbook: which processes, and how much is at stake."""
    text = (RUNBOOKS / "OutboxDegraded.md").read_text()
    return re.findall(r"```promql\n\s*(.+?)\s*```", text, re.DOTALL)[:2]


def is_over(server: PrometheusServer) -> bool:
    """Whether the alert is neither pending nor firing."""
    return server.query(ALERT) == []


def test_alert_begins_when_the_disk_is_full_and_ends_when_it_is_not(tmp_path: Path) -> None:
    with DevServer() as service:
        service.faults.set(Fault("refuse"))
        with (
            running_agent(service.url, tmp_path / "outbox") as agent,
            running_prometheus(tmp_path / "p", [agent.address], rules=RULES) as server,
        ):
            (alert,) = server.wait_for_series(ALERT, SEEN_S)
            assert (alert.labels["alertstate"], alert.labels["severity"]) == ("pending", "warning")
            where = {"instance": agent.address, "provider": "memorysync"}
            assert where.items() <= alert.labels.items()

            ((failing,), (at_stake,)) = map(server.query, first_queries())
            assert where.items() <= failing.labels.items()
            assert where.items() <= at_stake.labels.items()
            assert (failing.value, at_stake.value) == (1, 20)

            agent.mend_disk()
            server.wait_for_series(MENDED, SEEN_S)
            server.wait_until(is_over, SEEN_S)
