"""The committed dashboards as tests read them: panels, targets, and every PromQL expression with its variables."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import promql_parser

DASHBOARDS = Path(__file__).parents[2] / "dashboards"
WINDOW = "20s"
# The last one is no variable: a process that runs for seconds has no yesterday, so tests ask for two seconds ago.
VARIABLES: Mapping[str, str] = {
    "$__rate_interval": WINDOW,
    "$__range": "60s",
    "$job": ".+",
    "$instance": ".+",
    "$provider": ".+",
    "offset 1d": "offset 2s",
}


@dataclass(frozen=True, slots=True)
class Target:
    """One query of a panel."""

    panel: str
    expression: str
    legend: str

    @property
    def interpolated(self) -> str:
        """The expression as Grafana sends it with everything selected."""
        return interpolated(self.expression)


def board_files() -> list[Path]:
    """Return every committed dashboard, at least one."""
    found = sorted(DASHBOARDS.glob("*.json"))
    assert found, f"no dashboard in {DASHBOARDS}"
    return found


def load(path: Path) -> dict[str, object]:
    """Return a dashboard's JSON."""
    document = json.loads(path.read_text())
    assert isinstance(document, dict)
    return document


def objects(value: object) -> list[dict[str, object]]:
    """Return `value` as the list of objects that it is; fails on anything else."""
    assert isinstance(value, list)
    assert all(isinstance(item, dict) for item in value)
    return value


def panels(board: dict[str, object]) -> list[dict[str, object]]:
    """Return the panels of a board, rows left out."""
    return [panel for panel in objects(board["panels"]) if panel["type"] != "row"]


def targets(board: dict[str, object]) -> list[Target]:
    """Return every query of every panel."""
    return [
        Target(str(panel["title"]), str(target["expr"]), str(target.get("legendFormat", "")))
        for panel in panels(board)
        for target in objects(panel["targets"])
    ]


def expressions(board: dict[str, object]) -> list[str]:
    """Return every expression of a board, annotations included."""
    annotations = objects(object_at(board, "annotations", "list"))
    return [t.expression for t in targets(board)] + [
        str(annotation["expr"]) for annotation in annotations if "expr" in annotation
    ]


def object_at(value: object, *path: str) -> object:
    """Return what stands at a path of keys."""
    for key in path:
        assert isinstance(value, dict)
        value = value[key]
    return value


def interpolated(expression: str) -> str:
    """Return the expression with the board's variables filled in."""
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def nodes(expression: str) -> Iterator[object]:
    """Yield every node of the parsed expression, outermost first."""
    found: list[object] = []
    promql_parser.walk(promql_parser.parse(interpolated(expression)), found.append)
    yield from found


def selectors(expression: str) -> list[promql_parser.VectorSelector]:
    """Return every vector selector of an expression, those inside ranges included."""
    return [n for n in nodes(expression) if isinstance(n, promql_parser.VectorSelector)]
