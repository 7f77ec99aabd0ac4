"""Row 4: how long it takes until what was said is remembered."""

from dashboards.generator import colours
from dashboards.generator.board import Row
from dashboards.generator.panels import Look, Query, Text, Tile, heat, lines
from dashboards.generator.promql import counter, increase, quantile, rate
from dashboards.generator.sets import KEPT
from grafana_foundation_sdk.models import units

from memotel.counts import Count
from memotel.outcomes import Operation
from memotel.telemetry import names

DELAY = Row(
    "How soon is it remembered?",
    (
        Tile(
            31,
            heat(
                Text(
                    "Write delay distribution",
                    "Finished writes by the time from acceptance to their final outcome.",
                    "a band that climbs: writes queue up behind something.",
                    "see *Oldest waiting write*; a jump of minutes is an outage that ended.",
                ),
                units.Seconds,
                Query(increase(names.WRITE_DELAY), "{{le}}"),
            ),
            width=8,
            height=9,
        ),
        Tile(
            32,
            lines(
                Text(
                    "Write delay",
                    "How long kept writes took: median, 95th and 99th percentile.",
                    "p50 above a few seconds: the next session of a person begins before the last one is remembered.",
                    "open an exemplar of p99 to see its trace; compare with *Retries of writes*.",
                ),
                Look(units.Seconds, colours=colours.QUANTILES),
                Query(quantile(0.5, names.WRITE_DELAY, only=KEPT), "p50"),
                Query(quantile(0.95, names.WRITE_DELAY, only=KEPT), "p95"),
                Query(quantile(0.99, names.WRITE_DELAY, only=KEPT), "p99", with_exemplars=True),
            ),
            width=8,
            height=9,
        ),
        Tile(
            33,
            lines(
                Text(
                    "Retries of writes",
                    "Attempts of a write after its first, per second, by their cause.",
                    "as many retries as writes: hardly anything gets through at once.",
                    "rate_limit: spread the load. status, timeout, connection: ask the service's status page.",
                    ("RetryStorm",),
                ),
                Look(units.OpsPerSecond, colours=colours.RETRY_CAUSES),
                Query(
                    rate(counter(Count.RETRIES), "cause", only={"operation": (Operation.WRITE,)}),
                    "{{cause}}",
                ),
                is_stacked=True,
            ),
            width=8,
            height=9,
        ),
    ),
)
