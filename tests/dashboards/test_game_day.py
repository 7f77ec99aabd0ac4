"""The recorded game day: ten faults, for each an alert of the committed rules and a query of a committed panel."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import promql_parser
import pytest
from boards import DASHBOARDS, load, object_at, objects
from rule_files import RUNBOOKS, alert_names

ROOT = Path(__file__).parents[2]
RECORD: dict[str, Any] = json.loads((ROOT / "docs" / "game-day.json").read_text())
FAULTS: list[dict[str, Any]] = RECORD["faults"]
EXPECTED = {
    "hang": "RecallErrorBudgetBurn",
    "refuse": "RecallErrorBudgetBurn",
    "errors": "RecallErrorBudgetBurn",
    "slow": "RecallLatencyBudgetBurn",
    "rate-limit": "RecallErrorBudgetBurn",
    "silent-quota": "SilentQuota",
    "key-rejected": "KeyRejected",
    "writes-rejected": "DeadLetters",
    "telemetry-gone": "TelemetryAbsent",
    "amnesia": "SilentAmnesia",
}
LONGEST_S = 25 * 60
every_fault = pytest.mark.parametrize("fault", FAULTS, ids=[each["fault"] for each in FAULTS])


def test_page_is_written_from_the_record() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.game_day.page", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_each_of_ten_faults_raised_its_alert() -> None:
    assert {each["fault"]: each["alert"]["name"] for each in FAULTS} == EXPECTED


@every_fault
def test_alerts_are_those_of_the_rules_and_have_a_page(fault: dict[str, Any]) -> None:
    for alert in (fault["alert"], *fault["others"]):
        assert alert["name"] in alert_names()
        assert (RUNBOOKS / f"{alert['name']}.md").is_file()
        assert alert["severity"] in ("critical", "warning")
        assert 0 < alert["after_s"] < LONGEST_S
        assert alert["name"] != "UnaccountedWrites"


@every_fault
def test_query_is_the_committed_panels(fault: dict[str, Any]) -> None:
    board = load(DASHBOARDS / f"{fault['board']}.json")
    (panel,) = [each for each in objects(board["panels"]) if each["id"] == fault["panel"]]
    assert panel["title"] == fault["title"]
    asked = [
        str(target["expr"])
        .replace("$__rate_interval", "1m")
        .replace("$job", fault["fault"])
        .replace("$instance", ".+")
        .replace("$provider", ".+")
        for target in objects(object_at(panel, "targets"))
    ]
    assert fault["query"] in asked
    promql_parser.parse(fault["query"])


@every_fault
def test_answers_show_something(fault: dict[str, Any]) -> None:
    assert fault["answers"]
    is_nothing = fault["fault"] in ("telemetry-gone", "amnesia")
    for answer in fault["answers"]:
        assert 0 <= answer["value"] <= answer["most"]
        assert (answer["most"] == 0) if is_nothing else (answer["most"] > 0)
