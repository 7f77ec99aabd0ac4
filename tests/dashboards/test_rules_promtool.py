"""promtool on the alert rules: no lint, every unit test passes, every alert has both kinds, and a wrong rule is caught."""

from pathlib import Path

import pytest
from rule_files import CASES, RULES, alert_names, cases, promtool, raw_metrics, write_trial

MUTANTS = [
    ("RecallErrorBudgetBurn", "(14.4 * 0.01)", "(30 * 0.01)"),
    ("RecallErrorBudgetBurn", "hit|empty|skipped|cancelled", "hit|empty|cancelled"),
    ("RecallErrorBudgetBurn", r"{outcome!~\"skipped|cancelled\"}", ""),
    ("RecallErrorBudgetBurn", ">= 50", ">= 5"),
    ("RecallErrorBudgetBurn", "> (1 * 0.01)", ">= 0"),
    ("RecallLatencyBudgetBurn", r"le=\"0.3\"", r"le=\"0.5\""),
    ("RecallLatencyBudgetBurn", "> (14.4 * 0.01)", "> (25 * 0.01)"),
    ("WriteLossBudgetBurn", "stored|duplicate|ignored", "stored|duplicate"),
    ("WriteLossBudgetBurn", "(14.4 * 0.001)", "(24 * 0.001)"),
    ("SilentAmnesia", "0.25 *", "0.3 *"),
    ("SilentAmnesia", ">= 50", ">= 40"),
    ("SilentAmnesia", ">= 0.2", ">= 0.1"),
    ("SilentAmnesia", "by (job, provider)", "by (job)"),
    ("CircuitOpen", "open|half_open", "open"),
    ("CircuitOpen", "[10m]", "[60m]"),
    ("OutboxStale", "> 300", ">= 300"),
    ("OutboxNearFull", "> 0.8", ">= 0.8"),
    ("OutboxNearFull", "by (job, instance, provider)", "by (job, provider)"),
    ("OutboxDegraded", '"for": "5m"', '"for": "4m"'),
    ("OutboxDegraded", "> 0", "> 1"),
    ("OutboxDegraded", "by (job, instance, provider)", "by (job, provider)"),
    ("UnaccountedWrites", "abs(memotel_writes_unaccounted)", "memotel_writes_unaccounted"),
    ("DeadLetters", "rejected", "dropped"),
    ("DeadLetters", "[1h]", "[2h]"),
    ("SilentQuota", r"state=\"silent\"", r"state=~\"silent|limited\""),
    ("KeyRejected", '"for": "5m"', '"for": "1m"'),
    ("RetryStorm", "> 0.5", ">= 0.5"),
    ("RetryStorm", ">= 50", ">= 5"),
    ("MemoryDisabled", '"for": "30m"', '"for": "20m"'),
    ("TelemetryAbsent", "[1d]", "[5m]"),
    ("TelemetryAbsent", '"for": "15m"', '"for": "5m"'),
]


def test_rules_have_no_lint() -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", RULES, folder=RULES.parent)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_unit_tests_pass(path: Path) -> None:
    done = promtool("test", "rules", path.name, folder=path.parent)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", alert_names())
@pytest.mark.parametrize("firing", [True, False], ids=["firing", "silent"])
def test_every_alert_has_a_firing_and_a_silent_case_with_its_own_series(
    name: str, firing: bool
) -> None:
    asking = [case for case in cases() if case.expects(name, firing=firing)]
    assert [case for case in asking if raw_metrics(name) <= case.series]


@pytest.mark.parametrize("name", alert_names())
def test_an_alert_passes_its_own_tests(tmp_path: Path, name: str) -> None:
    files = write_trial(tmp_path, name)
    assert files
    done = promtool("test", "rules", *files, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("name", "old", "new"), MUTANTS)
def test_a_wrong_rule_fails_its_tests(tmp_path: Path, name: str, old: str, new: str) -> None:
    files = write_trial(tmp_path, name, old, new)
    done = promtool("test", "rules", *files, folder=tmp_path)
    assert done.returncode == 1, f"nothing noticed {new!r} in place of {old!r}"
    assert "FAILED" in done.stdout + done.stderr


def test_mutants_reach_every_alert() -> None:
    assert {name for name, _, _ in MUTANTS} == set(alert_names())
