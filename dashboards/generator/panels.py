"""The five kinds of panel that a board is made of, with the options that every one of them shares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from grafana_foundation_sdk.builders import common as options
from grafana_foundation_sdk.builders import (
    dashboard,
    heatmap,
    prometheus,
    stat,
    statetimeline,
    table,
    timeseries,
)
from grafana_foundation_sdk.models import common, units
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import heatmap as heatmap_model
from grafana_foundation_sdk.models import prometheus as prometheus_model

DATASOURCE = common.DataSourceRef(type_val="prometheus", uid="${datasource}")
MIN_INTERVAL = "15s"
SOFT_MAXIMUM: Mapping[str, float] = {units.OpsPerSecond: 0.1, units.Short: 1, units.Seconds: 0.1}
"""How far an axis reaches at least, by unit: Grafana shows an idle process between 0 and 100, whatever the unit."""
RUNBOOKS = "runbooks"
"""The board's variable that holds the address under which `dashboards/runbooks` is published."""
STEPS = tuple[tuple[float | None, str], ...]
Builder = timeseries.Panel | stat.Panel | heatmap.Panel | statetimeline.Panel | table.Panel
P = TypeVar("P", timeseries.Panel, stat.Panel, heatmap.Panel, statetimeline.Panel, table.Panel)
C = TypeVar("C", timeseries.Panel, stat.Panel, statetimeline.Panel, table.Panel)


@dataclass(frozen=True, slots=True)
class Text:
    """What a person reads: a title, what the panel shows, what bad looks like, the first thing to do.

    `alerts` are those that this panel explains; each has a page in `dashboards/runbooks`.
    """

    title: str
    shows: str
    bad: str
    first: str
    alerts: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """The sentences as Markdown, the runbooks last."""
        said = f"{self.shows}\n\n**Bad:** {self.bad}\n\n**First:** {self.first}"
        pages = ", ".join(f"`{alert}.md`" for alert in self.alerts)
        return f"{said}\n\n**Runbook:** {pages}" if pages else said


@dataclass(frozen=True, slots=True)
class Query:
    """One expression and the legend of its series; `is_instant` asks for its value at the range's end only."""

    expression: str
    legend: str = ""
    with_exemplars: bool = False
    is_instant: bool = False


@dataclass(frozen=True, slots=True)
class Tile:
    """A panel, its id (never changed: links name it) and its size on a grid of 24 columns."""

    id: int
    panel: Builder
    width: int
    height: int = 8


@dataclass(frozen=True, slots=True)
class Look:
    """How a value reads: its unit, its thresholds, fixed colours by series, its greatest value."""

    unit: str
    steps: STEPS = ((None, "green"),)
    colours: Mapping[str, str] = field(default_factory=dict)
    maximum: float | None = None


def stat_panel(
    text: Text, look: Look, query: Query, no_value: str = "no traffic", *, is_named: bool = False
) -> stat.Panel:
    """Return one large number for each series, with its recent course unless the query is instant.

    `is_named` shows the legend beside the number, also where there is but one series.
    """
    panel = _looks(_common(stat.Panel(), text, (query,)), look, model.FieldColorModeId.THRESHOLDS)
    graph = common.BigValueGraphMode.NONE if query.is_instant else common.BigValueGraphMode.AREA
    if look.unit == units.PercentUnit:
        panel.decimals(2)
    if is_named:
        panel.text_mode(common.BigValueTextMode.VALUE_AND_NAME)
    return (
        panel.no_value(no_value)
        .graph_mode(graph)
        .color_mode(common.BigValueColorMode.VALUE)
        .reduce_options(options.ReduceDataOptions().calcs(["lastNotNull"]))
    )


def lines(
    text: Text, look: Look, *queries: Query, is_stacked: bool = False, is_low: bool = False
) -> timeseries.Panel:
    """Return series over time; where thresholds are set, a dashed line marks them.

    `is_low`: the panel has no room for a table under the lines; the legend is one line of names.
    """
    colour = model.FieldColorModeId.PALETTE_CLASSIC
    panel = _looks(_common(timeseries.Panel(), text, queries), look, colour)
    mode = common.StackingMode.NORMAL if is_stacked else common.StackingMode.NONE
    dashed = common.GraphThresholdsStyleMode.DASHED
    shown = dashed if len(look.steps) > 1 else common.GraphThresholdsStyleMode.OFF
    legend = _legend().calcs(["lastNotNull", "max"]).sort_by("Max").sort_desc(True)
    if look.maximum is None and look.unit in SOFT_MAXIMUM:
        panel.axis_soft_max(SOFT_MAXIMUM[look.unit])
    return (
        panel.line_width(1)
        .fill_opacity(40 if is_stacked else 8)
        .stacking(options.StackingConfig().mode(mode).group("A"))
        .show_points(common.VisibilityMode.NEVER)
        .thresholds_style(options.GraphThresholdsStyleConfig().mode(shown))
        .legend(_legend(common.LegendDisplayMode.LIST) if is_low else legend)
        .tooltip(_tooltip())
    )


def heat(text: Text, unit: str, query: Query) -> heatmap.Panel:
    """Return the buckets of a histogram over time."""
    panel = _common(heatmap.Panel(), text, (query,), prometheus_model.PromQueryFormat.HEATMAP)
    scheme = heatmap.HeatmapColorOptions().mode(heatmap_model.HeatmapColorMode.SCHEME)
    return (
        panel.calculate(False)
        .unit(unit)
        .y_axis(heatmap.YAxisConfig().unit(unit))
        .color(scheme.scheme("Oranges").steps(64))
    )


def timeline(
    text: Text, states: Mapping[str, str], *queries: Query, no_value: str = "no accounts"
) -> statetimeline.Panel:
    """Return bands of named states over time; a query's value is the state's place in `states`."""
    mapping = {
        str(place): model.ValueMappingResult(text=name, color=colour, index=place)
        for place, (name, colour) in enumerate(states.items())
    }
    panel = _looks(
        _common(statetimeline.Panel(), text, queries),
        Look(units.Short),
        model.FieldColorModeId.THRESHOLDS,
    )
    return (
        panel.mappings([model.ValueMap(options=mapping)])
        .no_value(no_value)
        .merge_values(True)
        .legend(_legend())
        .tooltip(_tooltip())
    )


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its heading, its unit, and the query behind it."""

    heading: str
    unit: str
    expression: str


def instances(text: Text, columns: Sequence[Column], label: Query) -> table.Panel:
    """Return a table with a row per instance; `label` is a query whose labels join the row."""
    queries = [*(Query(column.expression) for column in columns), label]
    panel = _common(table.Panel(), text, queries, prometheus_model.PromQueryFormat.TABLE)
    headings = {f"Value #{_reference(i)}": column.heading for i, column in enumerate(columns)}
    hidden = {"Time": True, f"Value #{_reference(len(columns))}": True}
    renamed = {**headings, "instance": "Instance", "version": "Version"}
    organize = {"excludeByName": hidden, "renameByName": renamed}
    panel = panel.with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
    panel = panel.with_transformation(
        model.DataTransformerConfig(id_val="organize", options=organize)
    )
    panel = _looks(panel, Look(units.Short), model.FieldColorModeId.THRESHOLDS)
    panel.override_by_name("Instance", [_property("links", _drill_downs())])
    for column in columns:
        panel.override_by_name(column.heading, [_property("unit", column.unit)])
    return panel


def _drill_downs() -> list[dict[str, object]]:
    kept = "${__url_time_range}&${datasource:queryparam}&${job:queryparam}"
    return [
        {
            "title": f"{name.capitalize()} of this instance",
            "url": f"/d/memotel-{name}?var-instance=${{__value.text:percentencode}}&{kept}",
        }
        for name in ("recall", "writes", "protection")
    ]


def _common(
    panel: P,
    text: Text,
    queries: Sequence[Query],
    form: prometheus_model.PromQueryFormat | None = None,
) -> P:
    panel.title(text.title).description(text.description).datasource(DATASOURCE)
    panel.interval(MIN_INTERVAL)
    panel.links([_runbook(alert) for alert in text.alerts])
    for place, query in enumerate(queries):
        panel.with_target(_target(query, _reference(place), form))
    return panel


def _looks(panel: C, look: Look, mode: model.FieldColorModeId) -> C:
    panel.unit(look.unit).min(0)
    if look.maximum is not None:
        panel.max(look.maximum)
    panel.color_scheme(dashboard.FieldColor().mode(mode))
    panel.thresholds(_thresholds(look.steps))
    for name, colour in look.colours.items():
        panel.override_by_name(name, [_property("color", {"mode": "fixed", "fixedColor": colour})])
    return panel


def _runbook(alert: str) -> dashboard.DashboardLink:
    link = dashboard.DashboardLink(f"Runbook: {alert}").type(model.DashboardLinkType.LINK)
    return link.url(f"${{{RUNBOOKS}}}/{alert}.md").target_blank(True)


def _target(
    query: Query, reference: str, form: prometheus_model.PromQueryFormat | None
) -> prometheus.Dataquery:
    target = prometheus.Dataquery().expr(query.expression).ref_id(reference).datasource(DATASOURCE)
    target.legend_format(query.legend)
    if query.is_instant or form is prometheus_model.PromQueryFormat.TABLE:
        target.instant()
    else:
        target.range()
    if form is not None:
        target.format(form)
    return target.exemplar(True) if query.with_exemplars else target


def _thresholds(steps: STEPS) -> dashboard.ThresholdsConfig:
    found = [model.Threshold(value=value, color=colour) for value, colour in steps]
    return dashboard.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(found)


def _legend(
    mode: common.LegendDisplayMode = common.LegendDisplayMode.TABLE,
) -> options.VizLegendOptions:
    legend = options.VizLegendOptions().display_mode(mode)
    return legend.placement(common.LegendPlacement.BOTTOM).show_legend(True)


def _tooltip() -> options.VizTooltipOptions:
    multi = options.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI)
    return multi.sort(common.SortOrder.DESCENDING)


def _property(name: str, value: object) -> model.DynamicConfigValue:
    return model.DynamicConfigValue(id_val=name, value=value)


def _reference(place: int) -> str:
    return chr(ord("A") + place)
