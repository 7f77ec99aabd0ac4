"""The committed alert rules, their promtool tests and their runbooks, as tests read them."""

import json
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import promql_parser
import yaml
from boards import DASHBOARDS, nodes, object_at, objects
from prometheus_process import require_binary

from memotel.telemetry.names import INSTRUMENTS, Instrument, Kind

RULES = DASHBOARDS / "rules" / "memotel.rules.yml"
CASES = sorted((DASHBOARDS / "rules" / "tests").glob("*.test.yml"))
RUNBOOKS = DASHBOARDS / "runbooks"
PROMETHEUS_LABELS = {"job", "instance"}
SERIES: dict[str, Instrument] = {
    f"{instrument.prometheus_name}{suffix}": instrument
    for instrument in INSTRUMENTS
    for suffix in (("_bucket", "_sum", "_count") if instrument.kind is Kind.HISTOGRAM else ("",))
}
PROMTOOL_TIMEOUT_S = 110


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what it records or the alert it raises, as the file has it."""

    name: str
    expression: str
    hold: str
    labels: dict[str, str]
    annotations: dict[str, str]

    @property
    def id(self) -> str:
        """What tells it from every other rule."""
        return "-".join((self.name, *(self.labels[k] for k in ("slo", "long") if k in self.labels)))

    @property
    def is_alert(self) -> bool:
        """Whether it raises an alert; a recording rule has no annotations."""
        return bool(self.annotations)


@cache
def load_yaml(path: Path) -> dict[str, object]:
    """Return a YAML file that holds a mapping, parsed once; not to be changed."""
    document = yaml.safe_load(path.read_text())
    assert isinstance(document, dict)
    return document


@cache
def rules() -> list[Rule]:
    """Return every committed rule, in order; parsed once."""
    groups = objects(load_yaml(RULES)["groups"])
    return [_rule(each) for group in groups for each in objects(group["rules"])]


def _rule(document: dict[str, object]) -> Rule:
    return Rule(
        name=str(document.get("alert") or document["record"]),
        expression=str(document["expr"]),
        hold=str(document.get("for", "")),
        labels=texts(document.get("labels", {})),
        annotations=texts(document.get("annotations", {})),
    )


def texts(value: object) -> dict[str, str]:
    """Return `value` as the mapping of texts that it is."""
    assert isinstance(value, dict)
    assert all(isinstance(item, str) for pair in value.items() for item in pair)
    return value


def alerts() -> list[Rule]:
    """Return the alerting rules."""
    return [rule for rule in rules() if rule.is_alert]


def alert_names() -> list[str]:
    """Return the name of every alert, once."""
    return sorted({rule.name for rule in alerts()})


def check_selectors(expression: str, recorded: set[str]) -> None:
    """Fail unless every metric, label, value and bound of `expression` exists."""
    found = [n for n in nodes(expression) if isinstance(n, promql_parser.VectorSelector)]
    assert found or "vector(" in expression, expression
    for selector in found:
        if selector.name in recorded:
            continue
        assert selector.name in SERIES, f"no such series: {selector.name}"
        for matcher in selector.matchers.matchers:
            _check_matcher(SERIES[selector.name], matcher)


def _check_matcher(instrument: Instrument, matcher: promql_parser.Matcher) -> None:
    if matcher.name in PROMETHEUS_LABELS:
        return
    if matcher.name == "le":
        assert float(matcher.value) in instrument.bounds, f"{instrument.name}: no such bound"
        assert not float(matcher.value).is_integer()
        return
    known = {label.prometheus_name: label for label in instrument.labels}
    assert matcher.name in known, f"{instrument.name} has no label {matcher.name}"
    values = known[matcher.name].values
    assert values is None or set(matcher.value.split("|")) <= set(values), matcher.value


def metrics(expression: str) -> set[str]:
    """Return the names of the series that an expression reads."""
    found = (n for n in nodes(expression) if isinstance(n, promql_parser.VectorSelector))
    return {str(selector.name) for selector in found}


def needed_by(name: str) -> list[Rule]:
    """Return the rules of one alert, behind the recording rules that they read."""
    records = [rule for rule in rules() if not rule.is_alert]
    wanted = [rule for rule in alerts() if rule.name == name]
    assert wanted, f"no alert {name}"
    slos = {rule.labels.get("slo") for rule in wanted}
    read = {metric for rule in wanted for metric in metrics(rule.expression)}
    needed = [
        rule
        for rule in records
        if rule.name in read and (not rule.labels or rule.labels.get("slo") in slos)
    ]
    return [*needed, *wanted]


def raw_metrics(name: str) -> set[str]:
    """Return the exported series that an alert reads, itself or through recording rules."""
    read = {metric for rule in needed_by(name) for metric in metrics(rule.expression)}
    return read & set(SERIES)


@dataclass(frozen=True, slots=True)
class Case:
    """One promtool test: the series it feeds, and the alerts it expects to fire or to be silent."""

    file: Path
    document: dict[str, object]

    @property
    def series(self) -> set[str]:
        """The names of the series that it feeds."""
        fed = objects(self.document["input_series"])
        return {re.split(r"[{\s]", str(each["series"]))[0] for each in fed}

    def expects(self, name: str, *, firing: bool) -> bool:
        """Whether it asks for `name` to fire, or to be silent, at some time."""
        asked = objects(self.document.get("alert_rule_test", []))
        return any(
            each["alertname"] == name and bool(each["exp_alerts"]) is firing for each in asked
        )


def cases() -> list[Case]:
    """Return every promtool test of every file."""
    return [Case(path, each) for path in CASES for each in objects(load_yaml(path)["tests"])]


def promtool(*arguments: object, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run promtool in `folder`."""
    command = [require_binary("promtool"), *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PROMTOOL_TIMEOUT_S,
        check=False,
    )


def write_trial(folder: Path, name: str, old: str = "", new: str = "") -> list[Path]:
    """Write the rules of one alert, with `old` replaced by `new`, and the tests that ask for it; return the tests.

    `old` and `new` are pieces of the rules as JSON, in which a quote inside an expression is written \\\\".
    Far fewer rules than the whole file has, so that a trial takes a moment. Fails where `old` is nowhere.
    """
    found = [_as_document(rule) for rule in needed_by(name)]
    text = json.dumps({"groups": [{"name": "trial", "rules": found}]})
    assert old in text, f"{name}: {old!r} is not in its rules"
    (folder / "memotel.rules.yml").write_text(text.replace(old, new) if old else text)
    return [path for file in CASES if (path := _write_asking(folder, file, name)) is not None]


def _as_document(rule: Rule) -> dict[str, object]:
    kind = "alert" if rule.is_alert else "record"
    document: dict[str, object] = {kind: rule.name, "expr": rule.expression, "labels": rule.labels}
    if rule.hold:
        document["for"] = rule.hold
    return document | ({"annotations": rule.annotations} if rule.is_alert else {})


def _write_asking(folder: Path, file: Path, name: str) -> Path | None:
    document = load_yaml(file)
    kept = []
    for case in objects(document["tests"]):
        asked = objects(case.get("alert_rule_test", []))
        of_alert = [each for each in asked if each["alertname"] == name]
        if of_alert:
            kept.append(
                {key: case[key] for key in ("interval", "input_series")}
                | {"alert_rule_test": of_alert}
            )
    if not kept:
        return None
    path = folder / file.name
    own: dict[str, object] = {"rule_files": ["memotel.rules.yml"], "tests": kept}
    path.write_text(json.dumps(document | own))
    return path


def panel_of(rule: Rule) -> dict[str, object]:
    """Return the panel that an alert points to; fails where the board or the panel is missing."""
    board = json.loads((DASHBOARDS / f"{rule.annotations['dashboard_uid']}.json").read_text())
    found = [
        panel
        for panel in objects(object_at(board, "panels"))
        if str(panel["id"]) == rule.annotations["panel_id"] and panel["type"] != "row"
    ]
    assert len(found) == 1, f"{rule.name}: no panel {rule.annotations['panel_id']}"
    return found[0]
