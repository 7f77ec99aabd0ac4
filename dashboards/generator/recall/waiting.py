"""Row 2: how long replies wait for memory, and where the time goes."""

from dashboards.generator import colours, slo
from dashboards.generator.board import Row
from dashboards.generator.colours import BAD, GOOD
from dashboards.generator.panels import Look, Query, Text, Tile, heat, lines
from dashboards.generator.promql import counter, increase, quantile, rate
from dashboards.generator.recall.common import latency, timeouts
from dashboards.generator.sets import ANSWERED
from grafana_foundation_sdk.models import units

from memotel.counts import Count
from memotel.outcomes import Operation
from memotel.telemetry import names

_BUDGET = ((None, GOOD), (slo.BUDGET_S, BAD))

WAITING = Row(
    "How long do replies wait?",
    (
        Tile(
            21,
            heat(
                Text(
                    "Wait distribution",
                    "Recalls by the time that a reply waited; the darker, the fewer.",
                    "a second band near the budget: a part of the recalls hangs while the rest is fine.",
                    "pick one instance above to see whether it is one host.",
                    ("RecallLatencyBudgetBurn",),
                ),
                units.Seconds,
                Query(increase(names.RECALL_DURATION), "{{le}}"),
            ),
            width=12,
            height=9,
        ),
        Tile(22, latency(22, 12).panel, width=12, height=9),
        Tile(
            23,
            lines(
                Text(
                    "p99 of answered recalls",
                    "The slowest percent of what the service did answer, by provider: its own pace, without the deadlines.",
                    "it nears the dashed line, the default budget: soon these recalls will time out.",
                    "one provider alone: ask its status page. Both: look at this host's network and load.",
                ),
                Look(units.Seconds, _BUDGET),
                Query(
                    quantile(0.99, names.RECALL_DURATION, "provider", only=ANSWERED),
                    "{{provider}}",
                ),
            ),
            width=8,
        ),
        timeouts(24, width=8),
        Tile(
            25,
            lines(
                Text(
                    "Retries of recalls",
                    "Second attempts per second that still fitted into the budget, by their cause.",
                    "a steady share: recalls succeed late. Latency grows before answers are lost.",
                    "connection: idle connections are cut, lower `keepalive`. status, rate_limit: ask the service.",
                    ("RetryStorm",),
                ),
                Look(units.OpsPerSecond, colours=colours.RETRY_CAUSES),
                Query(
                    rate(counter(Count.RETRIES), "cause", only={"operation": (Operation.RECALL,)}),
                    "{{cause}}",
                ),
                is_stacked=True,
            ),
            width=8,
        ),
    ),
)
