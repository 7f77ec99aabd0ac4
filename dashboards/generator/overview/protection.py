"""Row 4: circuit, quota, retries and permits."""

from collections.abc import Mapping

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
    timeline,
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


def _worst(name: Gauge, states: Mapping[str, str]) -> str:
    """Return, by provider, the place in `states` (mildest first) of the worst that any account is in."""
    places = [
        f"{place} * ({total(gauge(name), 'provider', only={'state': (state,)}, how='max')} > bool 0)"
        for place, state in enumerate(states)
    ]
    worse = [f"({place} > 0)" for place in reversed(places[1:])]
    return " or ".join([*worse, places[0]])


PROTECTION = Row(
    "What protects the agents right now?",
    (
        Tile(
            31,
            timeline(
                Text(
                    "Circuit",
                    "The worst state of any account's circuit breaker, by provider.",
                    "open: the service was failing, recalls come back at once without memories.",
                    "ask the service's status page; recovery is noticed without anybody's help.",
                ),
                colours.CIRCUIT,
                Query(
                    _worst(Gauge.CIRCUIT_STATE, colours.CIRCUIT),
                    "{{provider}}",
                ),
            ),
            width=12,
            height=6,
        ),
        Tile(
            32,
            timeline(
                Text(
                    "Quota",
                    "What the evidence says of the accounts' plans, the worst by provider.",
                    "limited: the service says that the plan is used up. silent: it answers with emptiness instead.",
                    "raise the plan, or lower what is written with `capture` and `persist_roles`.",
                ),
                colours.QUOTA,
                Query(
                    _worst(Gauge.QUOTA_STATE, colours.QUOTA),
                    "{{provider}}",
                ),
            ),
            width=12,
            height=6,
        ),
        Tile(
            33,
            lines(
                Text(
                    "Degraded by quota",
                    "Operations per second that a used-up plan spoilt, said (strict) or unsaid (silent).",
                    "anything above 0.",
                    "raise the plan; *Accounts over quota* counts how many accounts it concerns.",
                ),
                Look(units.OpsPerSecond),
                Query(
                    rate(counter(Count.QUOTA_DEGRADED), "operation", "mode"),
                    "{{operation}} {{mode}}",
                ),
            ),
            width=8,
        ),
        Tile(
            34,
            lines(
                Text(
                    "Retries",
                    "Attempts after the first, per second, by what made them worthwhile.",
                    "half as many retries as operations: the service is unwell even if outcomes still look good.",
                    "rate_limit: lower the load or raise the plan. connection or status: ask the service.",
                ),
                Look(units.OpsPerSecond),
                Query(
                    rate(counter(Count.RETRIES), "operation", "cause"), "{{operation}} {{cause}}"
                ),
            ),
            width=8,
        ),
        Tile(
            35,
            lines(
                Text(
                    "Recalls in flight",
                    "Permits in use, as a share of those there are; the dashed line is 80 %.",
                    "at 100 % further recalls are shed: replies are made without memory.",
                    "raise `max_recalls_in_flight`, or find out why recalls take so long.",
                ),
                Look(units.PercentUnit, ((None, GOOD), (slo.NEARLY_FULL, BAD)), maximum=1),
                Query(
                    ratio(
                        total(gauge(Gauge.PERMITS_IN_USE), *PER_OUTBOX),
                        total(gauge(Gauge.PERMITS_CAPACITY), *PER_OUTBOX),
                        *PER_OUTBOX,
                    ),
                    "{{provider}} {{instance}}",
                ),
            ),
            width=8,
        ),
    ),
)
