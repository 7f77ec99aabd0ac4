"""Panels on what protects agents that more than one board shows."""

from collections.abc import Mapping

from dashboards.generator import colours, slo
from dashboards.generator.colours import BAD, GOOD
from dashboards.generator.panels import Look, Query, Text, Tile, lines, timeline
from dashboards.generator.promql import counter, gauge, rate, ratio, total
from dashboards.generator.sets import PER_OUTBOX
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


def circuit(number: int, width: int) -> Tile:
    """Return the state of the circuit breakers over time."""
    text = Text(
        "Circuit",
        "The worst state of any account's circuit breaker, by provider.",
        "open: the service was failing, recalls come back at once without memories.",
        "ask the service's status page; recovery is noticed without anybody's help.",
        ("CircuitOpen",),
    )
    query = Query(_worst(Gauge.CIRCUIT_STATE, colours.CIRCUIT), "{{provider}}")
    return Tile(number, timeline(text, colours.CIRCUIT, query), width, height=6)


def quota(number: int, width: int) -> Tile:
    """Return what is known of the plans over time."""
    text = Text(
        "Quota",
        "What the evidence says of the accounts' plans, the worst by provider.",
        "limited: the service says that the plan is used up. silent: it answers with emptiness instead.",
        "raise the plan, or lower what is written with `capture` and `persist_roles`.",
        ("SilentQuota",),
    )
    query = Query(_worst(Gauge.QUOTA_STATE, colours.QUOTA), "{{provider}}")
    return Tile(number, timeline(text, colours.QUOTA, query), width, height=6)


def retries(number: int, width: int) -> Tile:
    """Return retries per second."""
    text = Text(
        "Retries",
        "Attempts after the first, per second, by what made them worthwhile.",
        "half as many retries as operations: the service is unwell even if outcomes still look good.",
        "rate_limit: lower the load or raise the plan. connection or status: ask the service.",
        ("RetryStorm",),
    )
    query = Query(rate(counter(Count.RETRIES), "operation", "cause"), "{{operation}} {{cause}}")
    look = Look(units.OpsPerSecond, colours=colours.RETRIES)
    return Tile(number, lines(text, look, query), width)


def in_flight(number: int, width: int) -> Tile:
    """Return the share of permits in use."""
    text = Text(
        "Recalls in flight",
        "Permits in use, as a share of those there are; the dashed line is 80 %.",
        "at 100 % further recalls are shed: replies are made without memory.",
        "raise `max_recalls_in_flight`, or find out why recalls take so long.",
    )
    used = ratio(
        total(gauge(Gauge.PERMITS_IN_USE), *PER_OUTBOX),
        total(gauge(Gauge.PERMITS_CAPACITY), *PER_OUTBOX),
        *PER_OUTBOX,
    )
    look = Look(units.PercentUnit, ((None, GOOD), (slo.NEARLY_FULL, BAD)), maximum=1)
    return Tile(number, lines(text, look, Query(used, "{{provider}} {{instance}}")), width)
