"""Row 3: what becomes of accepted writes."""

from dashboards.generator import colours, slo
from dashboards.generator.board import Row
from dashboards.generator.colours import BAD, GOOD
from dashboards.generator.overview.sets import PER_OUTBOX
from dashboards.generator.panels import (
    Look,
    Query,
    Text,
    Tile,
    lines,
)
from dashboards.generator.promql import (
    counter,
    gauge,
    rate,
    ratio,
    total,
)
from grafana_foundation_sdk.models import units

from memotel.counts import Count, Gauge

_WRITES = counter(Count.WRITES)

WRITES = Row(
    "Is every write kept?",
    (
        Tile(
            21,
            lines(
                Text(
                    "Writes by outcome",
                    "Finished writes per second by their final outcome.",
                    "dropped, expired, rejected or quota: each of these is a turn that the memory will not have.",
                    "dropped: the outbox is full or the process ended in an outage; set a durable outbox.",
                ),
                Look(units.OpsPerSecond, colours=colours.WRITE_OUTCOMES),
                Query(rate(_WRITES, "outcome"), "{{outcome}}"),
                is_stacked=True,
            ),
            width=12,
        ),
        Tile(
            22,
            lines(
                Text(
                    "Outbox fill",
                    "Writes waiting, as a share of what the outbox may hold; the dashed line is 80 %.",
                    "rising without end: the service takes fewer writes than agents make.",
                    "see *Circuit* and *Quota*; at 100 % new writes are dropped or refused.",
                ),
                Look(units.PercentUnit, ((None, GOOD), (slo.NEARLY_FULL, BAD)), maximum=1),
                Query(
                    ratio(
                        total(gauge(Gauge.OUTBOX_PENDING), *PER_OUTBOX),
                        total(gauge(Gauge.OUTBOX_CAPACITY), *PER_OUTBOX),
                        *PER_OUTBOX,
                    ),
                    "{{provider}} {{instance}}",
                ),
            ),
            width=12,
        ),
        Tile(
            23,
            lines(
                Text(
                    "Oldest waiting write",
                    "Age of the oldest write without a final outcome; the dashed line is five minutes.",
                    "above the line and rising: nothing gets through.",
                    "see *Circuit*, *Quota* and *Keys rejected* for what holds the writes back.",
                ),
                Look(units.Seconds, ((None, GOOD), (slo.OUTBOX_OLD_S, BAD))),
                Query(
                    total(gauge(Gauge.OUTBOX_OLDEST_AGE), *PER_OUTBOX, how="max"),
                    "{{provider}} {{instance}}",
                ),
            ),
            width=12,
        ),
        Tile(
            24,
            lines(
                Text(
                    "Not written twice",
                    "Utterances that were recognised and not written again, by how.",
                    "redelivery or replay far above normal: something repeats whole turns.",
                    "look for a restart loop, or a capability attached to two agents of one chat.",
                ),
                Look(units.OpsPerSecond, colours=colours.DEDUPE_KINDS),
                Query(rate(counter(Count.DEDUPLICATED), "kind"), "{{kind}}"),
                is_stacked=True,
            ),
            width=12,
        ),
    ),
)
