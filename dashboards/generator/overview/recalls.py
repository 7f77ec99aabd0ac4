"""Row 2: what recalls bring back, and how long replies wait for it."""

from dashboards.generator import colours, slo
from dashboards.generator.board import Row
from dashboards.generator.colours import BAD, GOOD
from dashboards.generator.overview.sets import ANSWERED
from dashboards.generator.panels import (
    Look,
    Query,
    Text,
    Tile,
    heat,
    lines,
)
from dashboards.generator.promql import (
    counter,
    increase,
    quantile,
    rate,
    ratio,
)
from grafana_foundation_sdk.models import units

from memotel.counts import Count
from memotel.outcomes import Outcome
from memotel.telemetry import names

_RECALLS = counter(Count.RECALLS)

RECALLS = Row(
    "What do recalls bring, and how fast?",
    (
        Tile(
            11,
            lines(
                Text(
                    "Recalls by outcome",
                    "Recalls per second by how they ended for the reply that waited.",
                    "timeout, unavailable, circuit_open, quota, rejected or shed take a visible share.",
                    "timeout or unavailable: is the service up? quota: *Quota*. rejected: *Keys rejected*.",
                ),
                Look(units.OpsPerSecond, colours=colours.OUTCOMES),
                Query(rate(_RECALLS, "outcome"), "{{outcome}}"),
                is_stacked=True,
            ),
            width=12,
        ),
        Tile(
            12,
            lines(
                Text(
                    "Recall latency",
                    "How long replies waited: median, 95th and 99th percentile; the dashed line is the default budget.",
                    "p99 at the dashed line: recalls run into their deadline and come back empty-handed.",
                    "open an exemplar of p99 to see its trace; compare with *Timeouts by phase*.",
                ),
                Look(units.Seconds, ((None, GOOD), (slo.BUDGET_S, BAD))),
                Query(quantile(0.5, names.RECALL_DURATION), "p50"),
                Query(quantile(0.95, names.RECALL_DURATION), "p95"),
                Query(quantile(0.99, names.RECALL_DURATION), "p99", with_exemplars=True),
            ),
            width=12,
        ),
        Tile(
            13,
            heat(
                Text(
                    "Recall latency distribution",
                    "Recalls by the time they took.",
                    "a second band near the budget: a part of the recalls hangs while the rest is fine.",
                    "pick one instance above to see whether it is one host.",
                ),
                units.Seconds,
                Query(increase(names.RECALL_DURATION), "{{le}}"),
            ),
            width=8,
        ),
        Tile(
            14,
            lines(
                Text(
                    "Timeouts by phase",
                    "Recalls that met their deadline, by where they were then.",
                    "dns, connect or tls: the way to the service. read: the service itself. queue: this process.",
                    "read: ask the service's status page. queue: look at *Recalls in flight*.",
                ),
                Look(units.OpsPerSecond),
                Query(rate(counter(Count.RECALL_TIMEOUTS), "phase"), "{{phase}}"),
                is_stacked=True,
            ),
            width=8,
        ),
        Tile(
            15,
            lines(
                Text(
                    "Hit ratio",
                    "Share of answered recalls that brought memories.",
                    "a sudden fall with no new users: the memory may be gone, or the scope is wrong.",
                    "compare with *Quota*; then search for a fact that must be there.",
                ),
                Look(units.PercentUnit, maximum=1),
                Query(
                    ratio(
                        rate(_RECALLS, "provider", only={"outcome": (Outcome.HIT,)}),
                        rate(_RECALLS, "provider", only=ANSWERED),
                        "provider",
                    ),
                    "{{provider}}",
                ),
            ),
            width=8,
        ),
    ),
)
