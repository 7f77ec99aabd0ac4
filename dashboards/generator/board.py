"""A board from its rows: variables, links, annotations, and a place on the grid for every panel.

The SDK's own layout overflows the 24 columns and gives panels no ids (facts of 0.0.21), so both are set here.
"""

from dataclasses import dataclass

from dashboards.generator.panels import DATASOURCE, RUNBOOKS, Tile
from dashboards.generator.promql import PROVIDER, counter
from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard as model

from memotel.counts import Count
from memotel.outcomes import CircuitState
from memotel.telemetry import names

COLUMNS = 24
ROW_IDS_FROM = 1_000
TAG = "memotel"
Variable = dashboard.DatasourceVariable | dashboard.QueryVariable | dashboard.TextBoxVariable


RUNBOOKS_AT = "/public/memotel-runbooks"
"""Where the boards look for the runbooks unless told otherwise: in Grafana's own static files, where
deploy/compose.yaml mounts them. The field *Runbooks at* on each board overrides it."""


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under one question."""

    question: str
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class Board:
    """One dashboard: `name` becomes the file's and, after `memotel-`, the uid's."""

    name: str
    title: str
    description: str
    rows: tuple[Row, ...]

    @property
    def uid(self) -> str:
        """The uid that links name; never changed."""
        return f"memotel-{self.name}"


def built(board: Board, runbooks_at: str = RUNBOOKS_AT) -> model.Dashboard:
    """Return the SDK's model of `board`, laid out, with ids; its links lead to runbooks at that address."""
    result = _frame(board, runbooks_at).build()
    result.panels = []
    top = 0
    for place, row in enumerate(board.rows):
        heading = dashboard.Row(row.question).id(ROW_IDS_FROM + place).build()
        heading.grid_pos = model.GridPos(h=1, w=COLUMNS, x=0, y=top)
        result.panels.append(heading)
        top = _lay(result.panels, row, top + 1)
    return result


def _lay(panels: list[model.Panel | model.RowPanel], row: Row, top: int) -> int:
    left, height = 0, 0
    for tile in row.tiles:
        if left + tile.width > COLUMNS:
            left, top, height = 0, top + height, 0
        panel = tile.panel.build()
        panel.id_val = tile.id
        panel.grid_pos = model.GridPos(h=tile.height, w=tile.width, x=left, y=top)
        panels.append(panel)
        left, height = left + tile.width, max(height, tile.height)
    return top + height


def _frame(board: Board, runbooks_at: str) -> dashboard.Dashboard:
    frame = dashboard.Dashboard(board.title).uid(board.uid).description(board.description)
    frame.tags([TAG, "generated"]).readonly().version(1)
    frame.time("now-6h", "now").refresh("1m").timezone("browser")
    frame.tooltip(model.DashboardCursorSync.CROSSHAIR)
    for variable in _variables(runbooks_at):
        frame.with_variable(variable)
    return frame.annotation(_built_in()).annotation(_circuit_opened()).link(_other_boards())


def _variables(runbooks_at: str) -> list[Variable]:
    # build.info is there from the start of every process, whatever it does; recalls name the providers.
    build = names.BUILD_INFO.prometheus_name
    recalls = counter(Count.RECALLS).prometheus_name
    source = dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus")
    return [
        source,
        _labels("job", "Job", build),
        _labels("instance", "Instance", f'{build}{{job=~"$job"}}'),
        _labels(PROVIDER, "Provider", f'{recalls}{{job=~"$job", instance=~"$instance"}}'),
        dashboard.TextBoxVariable(RUNBOOKS).label("Runbooks at").default_value(runbooks_at),
    ]


def _labels(name: str, label: str, series: str) -> dashboard.QueryVariable:
    variable = dashboard.QueryVariable(name).label(label).datasource(DATASOURCE)
    variable.query({"query": f"label_values({series}, {name})", "refId": name})
    variable.multi(True).include_all(True).all_value(".+").current(
        model.VariableOption(selected=True, text=["All"], value=["$__all"])
    )
    variable.refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
    return variable.sort(model.VariableSort.ALPHABETICAL_ASC)


def _built_in() -> dashboard.AnnotationQuery:
    query = dashboard.AnnotationQuery().name("Annotations & Alerts").built_in(1).type("dashboard")
    query.datasource(_grafana()).hide(True)
    return query.enable(True).icon_color("rgba(0, 211, 255, 1)")


def _circuit_opened() -> dashboard.AnnotationQuery:
    transitions = counter(Count.CIRCUIT_TRANSITIONS).prometheus_name
    selector = (
        f'job=~"$job", instance=~"$instance", provider=~"$provider", to="{CircuitState.OPEN}"'
    )
    expression = f"sum by (provider) (increase({transitions}{{{selector}}}[$__rate_interval])) > 0"
    query = dashboard.AnnotationQuery().name("Circuit opened").datasource(DATASOURCE)
    query.expr(expression).title_format("Circuit opened: {{provider}}")
    return query.enable(True).icon_color("dark-red")


def _grafana() -> common.DataSourceRef:
    return common.DataSourceRef(type_val="grafana", uid="-- Grafana --")


def _other_boards() -> dashboard.DashboardLink:
    link = dashboard.DashboardLink("Agent memory").type(model.DashboardLinkType.DASHBOARDS)
    return link.tags([TAG]).as_dropdown(True).include_vars(True).keep_time(True)
