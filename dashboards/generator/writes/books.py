"""Row 1: does every accepted write come to an end, and to a good one."""

from dashboards.generator import slo
from dashboards.generator.board import Row
from dashboards.generator.colours import BAD, GOOD
from dashboards.generator.looks import MUST_BE_ZERO, NUMBER, objective
from dashboards.generator.panels import Look, Query, Text, Tile, stat_panel
from dashboards.generator.promql import events, gauge, rate, ratio, total
from dashboards.generator.sets import KEPT, LOST, PER_OUTBOX
from dashboards.generator.writes.common import WRITES
from grafana_foundation_sdk.models import units

from memotel.counts import Gauge

BOOKS = Row(
    "Is every write accounted for?",
    (
        Tile(
            1,
            stat_panel(
                Text(
                    "Writes kept",
                    "Share of finished writes that the service has, or found nothing worth keeping in. "
                    f"Objective {slo.percent(slo.WRITES_KEPT)}.",
                    "below the objective: turns are being lost.",
                    "see which outcome grows in *Writes by outcome*.",
                    ("WriteLossBudgetBurn",),
                ),
                objective(slo.WRITES_KEPT),
                Query(ratio(rate(WRITES, only=KEPT), rate(WRITES)), "kept"),
                no_value="no writes",
            ),
            width=5,
            height=4,
        ),
        Tile(
            2,
            stat_panel(
                Text(
                    "Unaccounted for",
                    "Accepted writes that are neither finished nor pending. The books of every outbox must balance.",
                    "anything but 0 is a defect of memotel, not of the service.",
                    "note instance and version, compare *In and out of the outbox*, and report it.",
                    ("UnaccountedWrites",),
                ),
                MUST_BE_ZERO,
                Query(f"sum(abs({total(gauge(Gauge.UNACCOUNTED), *PER_OUTBOX)}))", "writes"),
                no_value="no outbox",
            ),
            width=5,
            height=4,
        ),
        Tile(
            3,
            stat_panel(
                Text(
                    "Waiting now",
                    "Accepted writes without a final outcome, over all outboxes.",
                    "it grows and does not come down again.",
                    "see *Oldest waiting write* for how long, *Parked and foreign* for why.",
                    ("OutboxNearFull",),
                ),
                NUMBER,
                Query(total(gauge(Gauge.OUTBOX_PENDING)), "writes"),
                no_value="no outbox",
            ),
            width=5,
            height=4,
        ),
        Tile(
            4,
            stat_panel(
                Text(
                    "Oldest",
                    "Age of the oldest write that waits anywhere.",
                    "above five minutes: what people said since then is not remembered yet.",
                    "see which process it is in *Oldest waiting write*.",
                    ("OutboxStale",),
                ),
                Look(units.Seconds, ((None, GOOD), (slo.OUTBOX_OLD_S, BAD))),
                Query(total(gauge(Gauge.OUTBOX_OLDEST_AGE), how="max"), "age"),
                no_value="no outbox",
            ),
            width=4,
            height=4,
        ),
        Tile(
            5,
            stat_panel(
                Text(
                    "Lost in this range",
                    "Writes that ended as quota, rejected, expired or dropped in the time shown above.",
                    "anything but 0: that many turns are not in the memory.",
                    "see *Lost writes* for when and how.",
                    ("WriteLossBudgetBurn", "DeadLetters"),
                ),
                MUST_BE_ZERO,
                Query(f"round({events(WRITES, only=LOST)})", "writes", is_instant=True),
                no_value="no writes",
            ),
            width=5,
            height=4,
        ),
    ),
)
