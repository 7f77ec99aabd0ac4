"""The committed alert rules: as generated, in names that exist, each with a page and a panel, none on thin evidence."""

import re
import subprocess
import sys
from pathlib import Path

import promql_parser
import pytest
from boards import board_files, expressions, load, nodes
from rule_files import (
    RULES,
    Rule,
    alert_names,
    alerts,
    check_selectors,
    metrics,
    needed_by,
    panel_of,
    rules,
)

from memotel.outcomes import Outcome, WriteOutcome
from memotel.telemetry import names

ROOT = Path(__file__).parents[2]
LEAST_EVENTS = 50
ALERTS = {
    "RecallErrorBudgetBurn",
    "RecallLatencyBudgetBurn",
    "WriteLossBudgetBurn",
    "SilentQuota",
    "SilentAmnesia",
    "CircuitOpen",
    "OutboxStale",
    "OutboxNearFull",
    "OutboxDegraded",
    "UnaccountedWrites",
    "DeadLetters",
    "KeyRejected",
    "RetryStorm",
    "MemoryDisabled",
    "TelemetryAbsent",
}
WINDOWS = {
    ("critical", "2m", "1h", "5m", "14.4"),
    ("critical", "15m", "6h", "30m", "6"),
    ("warning", "1h", "1d", "2h", "3"),
    ("warning", "3h", "3d", "6h", "1"),
}
OBJECTIVES = {"recalls_answered": "0.01", "recalls_fast": "0.01", "writes_kept": "0.001"}
BAD_RECALLS = set(Outcome) - {Outcome.HIT, Outcome.EMPTY, Outcome.SKIPPED, Outcome.CANCELLED}
LOST_WRITES = set(WriteOutcome) - {
    WriteOutcome.STORED,
    WriteOutcome.DUPLICATE,
    WriteOutcome.IGNORED,
}
every_rule = pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
every_alert = pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule.id)


def generate(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "dashboards.alerting", *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def test_committed_rules_are_as_generated() -> None:
    done = generate("--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "rules as generated\n", "")


def test_check_fails_on_stale_and_on_missing_rules(tmp_path: Path) -> None:
    stale = tmp_path / "stale.yml"
    assert generate("--check", "--to", stale).returncode == 1
    stale.write_text(RULES.read_text().replace("0.99", "0.98"))
    assert generate("--check", "--to", stale).returncode == 1


def test_alerts_link_to_runbooks_that_are_published_and_to_no_others(tmp_path: Path) -> None:
    own = tmp_path / "own.yml"
    assert generate("--runbooks", "https://wiki.test/memory/", "--to", own).returncode == 0
    linked = re.sub(
        r'( +)runbook: "dashboards/runbooks/(\w+\.md)"',
        r'\g<0>\n\1runbook_url: "https://wiki.test/memory/\2"',
        RULES.read_text(),
    )
    assert own.read_text() == linked
    assert "runbook_url" not in RULES.read_text()
    assert generate("--runbooks", "", "--to", own).returncode == 0
    assert own.read_text() == RULES.read_text()


def test_alerts_are_those_that_the_runbooks_explain() -> None:
    assert set(alert_names()) == ALERTS


@every_rule
def test_every_metric_label_value_and_bound_exists(rule: Rule) -> None:
    check_selectors(rule.expression, {each.name for each in rules() if not each.is_alert})


@every_rule
def test_aggregations_name_what_they_keep(rule: Rule) -> None:
    aggregations = [n for n in nodes(rule.expression) if isinstance(n, promql_parser.AggregateExpr)]
    for node in aggregations:
        assert str(node.modifier).startswith("by"), rule.expression
    assert "without" not in rule.expression
    assert "otel_scope" not in rule.expression


@every_rule
def test_divisions_are_matched_explicitly_and_guarded_against_nothing(rule: Rule) -> None:
    for node in nodes(rule.expression):
        if isinstance(node, promql_parser.BinaryExpr) and str(node.op) == "/":
            assert "/ on (job" in rule.expression
            divisor = str(node.rhs)
            is_recorded = divisor.startswith("memotel:slo_events:increase")
            assert is_recorded or re.search(r">=? (0|50)\s*\)$", divisor), divisor


def test_events_are_recorded_only_where_there_are_some() -> None:
    found = [rule for rule in rules() if rule.name.startswith("memotel:slo_events:")]
    assert len(found) == 3 * 7
    assert all(rule.expression.endswith(") > 0") for rule in found)


def test_burn_alerts_cover_every_objective_in_every_pair_of_windows() -> None:
    found = {
        (
            rule.labels["slo"],
            rule.labels["severity"],
            rule.hold,
            rule.labels["long"],
            rule.labels["short"],
        )
        for rule in alerts()
        if "slo" in rule.labels
    }
    assert found == {(slo, *window[:4]) for slo in OBJECTIVES for window in WINDOWS}


@pytest.mark.parametrize(
    "rule", [r for r in alerts() if "slo" in r.labels], ids=lambda rule: rule.id
)
def test_burn_alert_asks_both_windows_for_the_rate_and_for_enough_events(rule: Rule) -> None:
    long, short, slo = (rule.labels[key] for key in ("long", "short", "slo"))
    rate = next(r for _, _, first, second, r in WINDOWS if (first, second) == (long, short))
    limit = f"({rate} * {OBJECTIVES[slo]})"
    assert rule.expression.split("\nand on (job) ") == [
        f'memotel:slo_errors:ratio_rate{long}{{slo="{slo}"}} > {limit}',
        f'memotel:slo_errors:ratio_rate{short}{{slo="{slo}"}} > {limit}',
        f'memotel:slo_events:increase{long}{{slo="{slo}"}} >= {LEAST_EVENTS}',
        f'memotel:slo_events:increase{short}{{slo="{slo}"}} >= {LEAST_EVENTS}',
    ]


def test_a_rate_that_no_share_of_errors_can_reach_is_not_asked_for() -> None:
    for *_, rate in WINDOWS:
        for budget in OBJECTIVES.values():
            assert float(rate) * float(budget) < 1


@pytest.mark.parametrize("name", ["SilentAmnesia", "RetryStorm"])
def test_other_ratios_too_need_enough_events(name: str) -> None:
    ratios = [
        node
        for rule in needed_by(name)
        for node in nodes(rule.expression)
        if isinstance(node, promql_parser.BinaryExpr) and str(node.op) == "/"
    ]
    assert ratios
    for node in ratios:
        assert re.search(rf">= {LEAST_EVENTS}\s*\)$", str(node.rhs))


def test_fast_is_a_bound_that_the_histogram_has() -> None:
    found = [rule for rule in rules() if 'le="' in rule.expression]
    assert len(found) == 7
    assert all('le="0.3"' in rule.expression for rule in found)
    assert 0.3 in names.RECALL_BOUNDS


def bad_outcomes(slo: str) -> set[str]:
    """Return the outcomes that the share of errors of an objective counts."""
    name = "memotel:slo_errors:ratio_rate5m"
    rule = next(r for r in rules() if r.name == name and r.labels["slo"] == slo)
    good = re.findall(r'outcome!~"([^"]+)"', rule.expression)
    assert len(good) == 1
    everything = set(Outcome) if slo == "recalls_answered" else set(WriteOutcome)
    return {str(each) for each in everything} - set(good[0].split("|"))


def test_indicators_count_exactly_what_they_promise() -> None:
    assert bad_outcomes("recalls_answered") == BAD_RECALLS
    assert bad_outcomes("writes_kept") == LOST_WRITES


def test_rules_and_board_share_their_indicators() -> None:
    board = " ".join(
        expression.replace('job=~"$job", instance=~"$instance", provider=~"$provider", ', "")
        for path in board_files()
        for expression in expressions(load(path))
    )
    for matcher in ('outcome=~"hit|empty"', 'outcome!~"skipped|cancelled"', 'le="0.3"'):
        assert matcher in board
        assert any(matcher in rule.expression for rule in rules())
    assert 'memotel_writes_total{outcome=~"stored|duplicate|ignored"}' in board


@every_alert
def test_alert_has_labels_to_route_by_and_no_others(rule: Rule) -> None:
    extra = {"slo", "long", "short"} if "slo" in rule.labels else set()
    assert set(rule.labels) == {"severity", "component"} | extra
    assert rule.labels["component"] == "memotel"
    assert rule.labels["severity"] in {"critical", "warning"}


@every_alert
def test_alert_says_what_happens_and_where_to_read_on(rule: Rule) -> None:
    texts = rule.annotations
    assert set(texts) == {
        "summary",
        "description",
        "runbook",
        "dashboard",
        "dashboard_uid",
        "panel_id",
    }
    assert texts["runbook"] == f"dashboards/runbooks/{rule.name}.md"
    assert (ROOT / texts["runbook"]).is_file()
    assert texts["summary"].endswith(".")
    assert 20 < len(texts["summary"]) < 140
    assert 40 < len(texts["description"]) < 300


@every_alert
def test_alert_points_to_a_panel_that_exists_and_reads_one_of_its_metrics(rule: Rule) -> None:
    board, panel = rule.annotations["dashboard_uid"], rule.annotations["panel_id"]
    assert rule.annotations["dashboard"].startswith(f"/d/{board}?viewPanel={panel}&var-job=")
    shown = {name for each in panel_targets(rule) for name in metrics(each)}
    read = {name for each in needed_by(rule.name) for name in metrics(each.expression)}
    assert shown & read, f"panel {panel} shows nothing that {rule.name} reads"


def panel_targets(rule: Rule) -> list[str]:
    targets = panel_of(rule)["targets"]
    assert isinstance(targets, list)
    return [str(target["expr"]) for target in targets]


@every_alert
def test_templates_show_only_labels_that_the_alert_keeps(rule: Rule) -> None:
    kept = kept_labels(rule.expression) | ({"job"} if "slo" in rule.labels else set())
    for text in rule.annotations.values():
        assert set(re.findall(r"\$labels\.(\w+)", text)) <= kept | set(rule.labels), text


def kept_labels(expression: str) -> set[str]:
    """Return the labels of the outermost `by`; those of the recording rule where it only reads one."""
    found = re.search(r"by \(([^)]+)\)", expression)
    if found is None:
        name = sorted(metrics(expression))[0]
        return kept_labels(next(rule.expression for rule in rules() if rule.name == name))
    return set(found[1].split(", "))
