"""The example configuration of Alertmanager: valid, routes each alert where it belongs, mutes only what follows."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from alertmanager_process import running_alertmanager
from prometheus_process import require_binary
from rule_files import Rule, alerts

CONFIG = Path(__file__).parents[2] / "deploy" / "alertmanager" / "alertmanager.yml"
RECEIVERS = {"critical": "memotel-pager", "warning": "memotel-tickets"}


def amtool(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [require_binary("amtool"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def receiver(labels: Mapping[str, str]) -> str:
    """Return the receivers that amtool routes an alert with these labels to."""
    given = [f"{name}={value}" for name, value in labels.items()]
    done = amtool("config", "routes", "test", f"--config.file={CONFIG}", *given)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_configuration_is_valid() -> None:
    done = amtool("check-config", str(CONFIG))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 inhibit rules" in done.stdout


def test_a_broken_configuration_is_noticed(tmp_path: Path) -> None:
    broken = tmp_path / "alertmanager.yml"
    broken.write_text(CONFIG.read_text().replace("- name: memotel-pager", "- name: pager"))
    assert amtool("check-config", str(broken)).returncode == 1


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule.id)
def test_every_alert_reaches_the_people_that_its_severity_names(rule: Rule) -> None:
    labels = {"alertname": rule.name, "job": "bot", **rule.labels}
    assert receiver(labels) == RECEIVERS[rule.labels["severity"]]


def test_alerts_of_others_keep_their_own_way() -> None:
    assert receiver({"alertname": "CircuitOpen", "severity": "critical"}) == "default"


def test_configuration_holds_no_secret() -> None:
    text = re.sub(r"(?m)^\s*#.*$", "", CONFIG.read_text())
    assert not re.search(
        r"(?i)password|token|secret|routing_key|service_key|api_url|https?://", text
    )


def labelled(name: str, severity: str, **more: str) -> dict[str, str]:
    return {
        "alertname": name,
        "severity": severity,
        "component": "memotel",
        "job": "bot",
        "id": f"{name}-{severity}-{'-'.join(more.values())}",
        **more,
    }


def test_a_page_mutes_the_ticket_of_its_objective_and_a_cause_what_follows_from_it(
    tmp_path: Path,
) -> None:
    answered, fast = "recalls_answered", "recalls_fast"
    raised = [
        labelled("RecallErrorBudgetBurn", "critical", slo=answered),
        labelled("SilentQuota", "critical", provider="rekall"),
    ]
    muted = [
        labelled("RecallErrorBudgetBurn", "warning", slo=answered),
        labelled("OutboxStale", "warning", provider="rekall", instance="a"),
    ]
    others = [
        # Another objective, another job, another provider, and alerts that have no objective at all.
        labelled("RecallLatencyBudgetBurn", "warning", slo=fast),
        labelled("RecallErrorBudgetBurn", "warning", slo=answered) | {"job": "x", "id": "job"},
        labelled("OutboxStale", "warning", provider="memorysync", instance="a"),
        labelled("RetryStorm", "warning", provider="rekall"),
        labelled("DeadLetters", "warning", provider="rekall"),
        # What waits because of the quota is what a failing disk puts at risk: both must be heard of.
        labelled("OutboxDegraded", "warning", provider="rekall", instance="a"),
    ]
    with running_alertmanager(tmp_path, without_waiting(tmp_path)) as server:
        server.post(raised)
        server.inhibited(len(raised))
        server.post([*muted, *others])
        found = server.inhibited(len(raised) + len(muted) + len(others))
    assert found == {each["id"] for each in muted}


def without_waiting(folder: Path) -> Path:
    """Return a copy of the configuration whose groups are flushed at once."""
    text = CONFIG.read_text()
    assert "group_wait: 30s" in text
    path = folder / "alertmanager.yml"
    fast = text.replace("group_wait: 30s", "group_wait: 0s").replace(
        "group_interval: 5m", "group_interval: 1s"
    )
    path.write_text(fast)
    return path
