"""Row 3: how full the outboxes are, how full they will be, and what lies in them."""

from dashboards.generator import slo
from dashboards.generator.board import Row
from dashboards.generator.colours import BAD, GOOD
from dashboards.generator.panels import Look, Query, Text, Tile, lines, stat_panel
from dashboards.generator.promql import counter, events, gauge, rate, ratio, select, total
from dashboards.generator.sets import PER_OUTBOX
from dashboards.generator.writes.common import CAPACITY, fill, oldest
from grafana_foundation_sdk.models import units

from memotel.counts import Count, Gauge

_PENDING = select(gauge(Gauge.OUTBOX_PENDING))
_AHEAD = f"sum by (provider, instance) (predict_linear({_PENDING}[30m], 3600))"

OUTBOX = Row(
    "Does the outbox hold?",
    (
        fill(21, width=8),
        Tile(
            22,
            lines(
                Text(
                    "Outbox fill in an hour",
                    "Where the outbox will be in an hour if the last 30 minutes go on, between 0 and 100 %.",
                    "above the dashed line: there is an hour or less to act before turns are lost.",
                    "raise `outbox_max_writes`, or end what holds the writes back.",
                    ("OutboxNearFull",),
                ),
                Look(units.PercentUnit, ((None, GOOD), (slo.NEARLY_FULL, BAD)), maximum=1),
                Query(
                    f"clamp({ratio(_AHEAD, CAPACITY, *PER_OUTBOX)}, 0, 1)",
                    "{{provider}} {{instance}}",
                ),
            ),
            width=8,
        ),
        oldest(23, width=8),
        Tile(
            24,
            lines(
                Text(
                    "Parked and foreign",
                    "Of the waiting writes: parked until a quota returns, and those of accounts that this process has no client for.",
                    "parked: a plan is used up. foreign that stays: an account is gone and nobody delivers for it.",
                    "parked: raise the plan. foreign: start a process with that account's key once.",
                    ("SilentQuota",),
                ),
                Look(units.Short),
                Query(total(gauge(Gauge.OUTBOX_PENDING)), "waiting, all"),
                Query(total(gauge(Gauge.OUTBOX_PARKED)), "parked"),
                Query(total(gauge(Gauge.OUTBOX_FOREIGN)), "foreign"),
            ),
            width=8,
        ),
        Tile(
            25,
            lines(
                Text(
                    "Outbox size",
                    "Bytes that the outboxes hold, by provider.",
                    "it nears `outbox_max_bytes` (32 MiB) although few writes wait: turns are very long.",
                    "see *Outbox fill* for the number; cut long turns with `redact`.",
                ),
                Look(units.BytesIEC),
                Query(total(gauge(Gauge.OUTBOX_BYTES), "provider"), "{{provider}}"),
            ),
            width=8,
        ),
        Tile(
            26,
            lines(
                Text(
                    "Passed between processes",
                    "Writes per second that were adopted from a process that ended, handed over, or sent again by hand.",
                    "adopted without a deployment: processes die with writes in their outbox.",
                    "look for restarts and for what ended the processes (out of memory?).",
                ),
                Look(units.OpsPerSecond),
                Query(rate(counter(Count.ADOPTED)), "adopted"),
                Query(rate(counter(Count.HANDED_OVER)), "handed over"),
                Query(rate(counter(Count.RESENT)), "sent again"),
            ),
            width=8,
        ),
        Tile(
            27,
            lines(
                Text(
                    "Outboxes whose disk fails",
                    "Outboxes that are set to a disk and keep new writes in memory because it fails, by instance.",
                    "above 0: what waits is lost if the process ends before the disk works again.",
                    "make room or mend the disk, and restart nothing before; the log says which error, `outbox.degraded`.",
                    ("OutboxDegraded",),
                ),
                Look(units.Short),
                Query(
                    total(gauge(Gauge.OUTBOX_DEGRADED), *PER_OUTBOX), "{{provider}} {{instance}}"
                ),
            ),
            width=16,
        ),
        Tile(
            28,
            stat_panel(
                Text(
                    "Damaged files set aside",
                    "Outbox files that could not be read in the shown range. They stay beside the others, with `.corrupt` in their name.",
                    "above 0: what they held may be lost. The disk is failing, or somebody else wrote to the files.",
                    "look at the disk and at the log, `outbox.damaged`; keep the files until you know.",
                ),
                Look(units.Short, ((None, GOOD), (0.5, BAD))),
                Query(events(counter(Count.OUTBOX_DAMAGED)), is_instant=True),
            ),
            width=8,
        ),
    ),
)
