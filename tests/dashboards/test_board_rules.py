"""The rules that every committed board keeps: Grafana's dashboard-linter's, ported, and our own."""

import itertools
import re
from pathlib import Path

import promql_parser
import pytest
from board_series import SERIES, Series, alerts
from boards import (
    DASHBOARDS,
    board_files,
    expressions,
    load,
    nodes,
    object_at,
    objects,
    panels,
    selectors,
    targets,
)

from memotel.outcomes import Outcome, WriteOutcome

Board = dict[str, object]
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
PROMETHEUS_LABELS = {"job", "instance"}
UNITS = {"s", "percentunit", "ops", "short", "bytes", "decbytes", "Bps"}
BOARDS = {"memotel-overview", "memotel-recall", "memotel-writes", "memotel-protection"}
RATES = {"rate", "irate", "increase"}


@pytest.fixture(params=board_files(), ids=lambda path: path.stem)
def board(request: pytest.FixtureRequest) -> Board:
    path = request.param
    assert isinstance(path, Path)
    return load(path)


def test_boards_are_these_four_and_their_files_have_their_uids() -> None:
    assert {path.stem for path in board_files()} == BOARDS
    assert {str(load(path)["uid"]) for path in board_files()} == BOARDS


def variables(board: Board) -> dict[str, Board]:
    return {str(v["name"]): v for v in objects(object_at(board, "templating", "list"))}


def test_board_is_a_classic_one_that_imports_anywhere(board: Board) -> None:
    assert board["schemaVersion"] == 42
    assert "__inputs" not in board
    assert board.get("id") is None
    assert board["editable"] is False
    assert len(str(board["uid"])) <= 40
    assert "memotel" in object_at(board, "tags")  # type: ignore[operator] # a list, by the schema


def test_board_has_the_variables_in_order(board: Board) -> None:
    found = variables(board)
    assert list(found) == ["datasource", "job", "instance", "provider", "runbooks"]
    assert (found["runbooks"]["type"], found["runbooks"]["label"]) == ("textbox", "Runbooks at")
    assert (found["datasource"]["type"], found["datasource"]["label"]) == (
        "datasource",
        "Data source",
    )
    assert found["datasource"]["query"] == "prometheus"
    for name in ("job", "instance", "provider"):
        variable = found[name]
        assert variable["type"] == "query"
        assert variable["label"] == name.capitalize()
        assert variable["datasource"] == SOURCE
        assert (variable["multi"], variable["includeAll"], variable["allValue"]) == (
            True,
            True,
            ".+",
        )
        assert variable["refresh"] == 2


def test_variables_ask_for_series_and_labels_that_exist(board: Board) -> None:
    for name, variable in variables(board).items():
        if name in ("datasource", "runbooks"):
            continue
        query = str(object_at(variable, "query", "query"))
        series, label = query.removeprefix("label_values(").removesuffix(")").rsplit(", ", 1)
        check_selectors(series)
        known = SERIES[series.partition("{")[0]]
        assert label == name
        assert label in PROMETHEUS_LABELS | set(known.labels)


def test_panel_ids_are_unique(board: Board) -> None:
    ids = [panel["id"] for panel in objects(board["panels"])]
    assert len(set(ids)) == len(ids)
    assert all(isinstance(found, int) and found > 0 for found in ids)


def cells(panel: Board) -> set[tuple[int, int]]:
    place = object_at(panel, "gridPos")
    assert isinstance(place, dict)
    left, top, width, height = (int(place[key]) for key in ("x", "y", "w", "h"))
    assert left >= 0
    assert left + width <= 24, panel["title"]
    return set(itertools.product(range(left, left + width), range(top, top + height)))


def test_grid_fits_and_nothing_overlaps(board: Board) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in objects(board["panels"]):
        wanted = cells(panel)
        assert not (taken & wanted), f"{panel['title']} lies on another panel"
        taken |= wanted


def test_panels_are_few_and_each_says_what_bad_looks_like(board: Board) -> None:
    found = panels(board)
    assert 1 <= len(found) <= 24
    for panel in found:
        assert 0 < len(str(panel["title"])) <= 40
        assert "memotel_" not in str(panel["title"])
        shows, bad, first, *runbook = str(panel["description"]).split("\n\n")
        assert len(shows) > 20, panel["title"]
        assert bad.startswith("**Bad:** ")
        assert first.startswith("**First:** ")
        assert all(part.startswith("**Runbook:** ") for part in runbook)


def runbooks(panel: Board) -> list[str]:
    """Return the alerts whose page a panel names; fails unless its links lead to the same pages."""
    named = re.findall(r"`(\w+)\.md`", str(panel["description"]).partition("**Runbook:** ")[2])
    links = objects(panel.get("links") or [])
    assert [link["url"] for link in links] == [f"${{runbooks}}/{name}.md" for name in named]
    return named


def test_panels_lead_to_the_runbooks_of_alerts_that_exist(board: Board) -> None:
    for panel in panels(board):
        for alert in runbooks(panel):
            assert alert in alerts(), panel["title"]


def test_every_alert_is_explained_by_a_panel_of_the_overview() -> None:
    overview = load(DASHBOARDS / "memotel-overview.json")
    named = {alert for panel in panels(overview) for alert in runbooks(panel)}
    assert alerts() <= named


def test_instances_lead_to_the_other_boards() -> None:
    overview = load(DASHBOARDS / "memotel-overview.json")
    table = next(panel for panel in panels(overview) if panel["title"] == "Instances")
    urls = re.findall(r"/d/([\w-]+)\?var-instance=", str(table["fieldConfig"]))
    assert set(urls) == BOARDS - {"memotel-overview"}


def test_panels_mention_only_panels_that_exist(board: Board) -> None:
    titles = {str(panel["title"]) for panel in panels(board)}
    for panel in panels(board):
        quoted = str(panel["description"]).replace("**", "").split("*")[1::2]
        assert set(quoted) <= titles, panel["title"]


def test_panels_take_the_chosen_data_source_and_a_fixed_least_interval(board: Board) -> None:
    for panel in panels(board):
        assert panel["datasource"] == SOURCE
        assert panel["interval"] == "15s"
        assert panel["targets"], panel["title"]
        references = [target["refId"] for target in objects(panel["targets"])]
        assert len(set(references)) == len(references)
        assert all(target["datasource"] == SOURCE for target in objects(panel["targets"]))


def test_panels_have_units_and_colour_modes(board: Board) -> None:
    for panel in panels(board):
        defaults = object_at(panel, "fieldConfig", "defaults")
        assert isinstance(defaults, dict)
        assert defaults["unit"] in UNITS, panel["title"]
        if panel["type"] != "heatmap":
            assert defaults["min"] == 0
            assert "color" in defaults, panel["title"]
        if defaults["unit"] == "percentunit" and panel["type"] != "table":
            assert defaults["max"] == 1
        if panel["type"] in ("stat", "state-timeline"):
            assert defaults["noValue"]


def test_legends_are_words_not_label_sets(board: Board) -> None:
    for panel in panels(board):
        if panel["type"] not in ("timeseries", "state-timeline"):
            continue
        legends = [str(target["legendFormat"]) for target in objects(panel["targets"])]
        assert all(legends), panel["title"]
        assert len(set(legends)) == len(legends)
        assert object_at(panel, "options", "legend", "placement") == "bottom"


def check_selectors(expression: str) -> None:
    """Fail unless every metric, label and label value of `expression` exists."""
    found = selectors(expression)
    assert found, expression
    for selector in found:
        assert selector.name in SERIES, f"no such series: {selector.name}"
        for matcher in selector.matchers.matchers:
            check_matcher(SERIES[selector.name], matcher)


def check_matcher(series: Series, matcher: promql_parser.Matcher) -> None:
    if matcher.name in PROMETHEUS_LABELS or matcher.value == ".+":
        return
    if matcher.name == "le":
        assert float(matcher.value) in series.bounds
        assert not float(matcher.value).is_integer()
        return
    values = series.labels[str(matcher.name)]
    assert values is None or set(matcher.value.split("|")) <= set(values)


def test_every_metric_label_and_value_exists(board: Board) -> None:
    for expression in expressions(board):
        check_selectors(expression)


def test_every_selector_is_narrowed_by_the_boards_variables(board: Board) -> None:
    for expression in expressions(board):
        found = [SERIES[str(selector.name)] for selector in selectors(expression)]
        narrowings = re.findall(r'job=~"\$job"(?:, instance=~"\$instance")?', expression)
        assert sorted(narrowings) == sorted(s.narrowed for s in found if s.narrowed), expression
        labelled = [series for series in found if "provider" in series.labels]
        assert expression.count('provider=~"$provider"') == len(labelled), expression


def test_counters_are_read_as_rates_over_the_rate_interval(board: Board) -> None:
    for expression in expressions(board):
        calls = [
            n
            for n in nodes(expression)
            if isinstance(n, promql_parser.Call) and n.func.name in RATES
        ]
        # The one other window is the whole range that is shown: how many events it saw.
        windows = expression.count("[$__rate_interval]") + expression.count("[$__range]")
        assert windows == len(calls), expression
        cumulative = [s for s in selectors(expression) if SERIES[str(s.name)].is_cumulative]
        assert len(cumulative) == len(calls), expression


def test_aggregations_name_what_they_keep(board: Board) -> None:
    for expression in expressions(board):
        for node in nodes(expression):
            if isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
                assert str(node.modifier).startswith("by"), expression
        assert "without" not in expression
        assert "otel_scope" not in expression


def test_quantiles_keep_the_bucket_bound(board: Board) -> None:
    for expression in expressions(board):
        if "histogram_quantile" in expression:
            assert "le)" in expression
            assert expression.endswith(">= 0"), "a quantile of nothing must be no series, not NaN"


def test_divisions_are_guarded_against_nothing(board: Board) -> None:
    for expression in expressions(board):
        for node in nodes(expression):
            if isinstance(node, promql_parser.BinaryExpr) and str(node.op) == "/":
                assert isinstance(node.rhs, promql_parser.ParenExpr), expression
                assert str(node.rhs.expr).endswith("> 0"), expression


def test_only_a_tail_latency_asks_for_exemplars(board: Board) -> None:
    asking = [
        str(target["legendFormat"])
        for panel in panels(board)
        for target in objects(panel["targets"])
        if target.get("exemplar")
    ]
    assert set(asking) <= {"p99"}


def test_outcomes_have_one_colour_each(board: Board) -> None:
    for panel in panels(board):
        names = {
            str(object_at(o, "matcher", "options"))
            for o in objects(object_at(panel, "fieldConfig", "overrides"))
        }
        if panel["title"] == "Recalls by outcome":
            assert names == set(Outcome)
        if panel["title"] == "Writes by outcome":
            assert names == set(WriteOutcome)


def test_no_defect_of_the_builder_is_left(board: Board) -> None:
    text = str(board)
    assert "placement': 'inControlsMenu'" not in text
    assert len(targets(board)) >= len(panels(board))
    assert "version" in board
    kinds = {r["type"] for r in objects(board["__requires"])}
    assert kinds == {"grafana", "datasource", "panel"}
