"""Panels on recalls that more than one board shows."""

from dashboards.generator import colours, slo
from dashboards.generator.colours import BAD, GOOD
from dashboards.generator.panels import Look, Query, Text, Tile, lines
from dashboards.generator.promql import counter, quantile, rate
from grafana_foundation_sdk.models import units

from memotel.counts import Count
from memotel.telemetry import names

RECALLS = counter(Count.RECALLS)


def by_outcome(number: int, width: int) -> Tile:
    """Return recalls per second, stacked by how they ended."""
    text = Text(
        "Recalls by outcome",
        "Recalls per second by how they ended for the reply that waited.",
        "timeout, unavailable, circuit_open, quota, rejected or shed take a visible share.",
        "timeout, unavailable: is the service up? quota, rejected: look at the plan and the key. shed: at Recalls in flight "
        "on the Protection board.",
        ("RecallErrorBudgetBurn",),
    )
    panel = lines(
        text,
        Look(units.OpsPerSecond, colours=colours.OUTCOMES),
        Query(rate(RECALLS, "outcome"), "{{outcome}}"),
        is_stacked=True,
    )
    return Tile(number, panel, width)


def latency(number: int, width: int) -> Tile:
    """Return percentiles of the wait, with exemplars on the tail."""
    text = Text(
        "Recall latency",
        "How long replies waited: median, 95th and 99th percentile; the dashed line is the default budget.",
        "p99 at the dashed line: recalls run into their deadline and come back empty-handed.",
        "open an exemplar of p99 to see its trace; compare with *Timeouts by phase*.",
        ("RecallLatencyBudgetBurn",),
    )
    panel = lines(
        text,
        Look(units.Seconds, ((None, GOOD), (slo.BUDGET_S, BAD)), colours.QUANTILES),
        Query(quantile(0.5, names.RECALL_DURATION), "p50"),
        Query(quantile(0.95, names.RECALL_DURATION), "p95"),
        Query(quantile(0.99, names.RECALL_DURATION), "p99", with_exemplars=True),
    )
    return Tile(number, panel, width)


def timeouts(number: int, width: int) -> Tile:
    """Return timeouts per second, stacked by where recalls were."""
    text = Text(
        "Timeouts by phase",
        "Recalls that met their deadline, by where they were then.",
        "dns, connect or tls: the way to the service. read: the service itself. queue: this process.",
        "read: ask the service's status page. dns, connect, tls: try the route from that host. queue: more permits.",
    )
    panel = lines(
        text,
        Look(units.OpsPerSecond),
        Query(rate(counter(Count.RECALL_TIMEOUTS), "phase"), "{{phase}}"),
        is_stacked=True,
    )
    return Tile(number, panel, width)
