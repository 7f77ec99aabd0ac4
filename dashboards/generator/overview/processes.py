"""Row 7: one line per process."""

from dashboards.generator.board import Row
from dashboards.generator.panels import (
    Column,
    Query,
    Text,
    Tile,
    instances,
)
from dashboards.generator.promql import (
    counter,
    gauge,
    quantile,
    rate,
    ratio,
    total,
)
from dashboards.generator.sets import ANSWERED, NOT_ASKED
from grafana_foundation_sdk.models import units

from memotel.counts import Count, Gauge
from memotel.telemetry import names

_RECALLS = counter(Count.RECALLS)

PROCESSES = Row(
    "Which process?",
    (
        Tile(
            41,
            instances(
                Text(
                    "Instances",
                    "One row per process: how much it recalls, how well, how slowly, and what it still has to write.",
                    "one row unlike the others: the trouble is in that process or on its host.",
                    "choose that instance above, or follow its name to another board; every panel then shows it alone.",
                    ("TelemetryAbsent",),
                ),
                (
                    Column("Recalls/s", units.OpsPerSecond, rate(_RECALLS, "instance")),
                    Column(
                        "Answered",
                        units.PercentUnit,
                        ratio(
                            rate(_RECALLS, "instance", only=ANSWERED),
                            rate(_RECALLS, "instance", but=NOT_ASKED),
                            "instance",
                        ),
                    ),
                    Column("p99", units.Seconds, quantile(0.99, names.RECALL_DURATION, "instance")),
                    Column(
                        "Writes pending",
                        units.Short,
                        total(gauge(Gauge.OUTBOX_PENDING), "instance"),
                    ),
                    Column(
                        "Oldest write",
                        units.Seconds,
                        total(gauge(Gauge.OUTBOX_OLDEST_AGE), "instance", how="max"),
                    ),
                ),
                Query(total(names.BUILD_INFO, "instance", "version", how="max")),
            ),
            width=24,
            height=6,
        ),
    ),
)
