"""Panels on writes that more than one board shows."""

from dashboards.generator import colours, slo
from dashboards.generator.colours import BAD, GOOD
from dashboards.generator.panels import Look, Query, Text, Tile, lines
from dashboards.generator.promql import counter, gauge, rate, ratio, total
from dashboards.generator.sets import PER_OUTBOX
from grafana_foundation_sdk.models import units

from memotel.counts import Count, Gauge

WRITES = counter(Count.WRITES)
CAPACITY = total(gauge(Gauge.OUTBOX_CAPACITY), *PER_OUTBOX)


def by_outcome(number: int, width: int) -> Tile:
    """Return finished writes per second, stacked by their final outcome."""
    text = Text(
        "Writes by outcome",
        "Finished writes per second by their final outcome.",
        "dropped, expired, rejected or quota: each of these is a turn that the memory will not have.",
        "dropped: the outbox is full or the process ended in an outage; set a durable outbox.",
        ("WriteLossBudgetBurn", "DeadLetters"),
    )
    query = Query(rate(WRITES, "outcome"), "{{outcome}}")
    look = Look(units.OpsPerSecond, colours=colours.WRITE_OUTCOMES)
    return Tile(number, lines(text, look, query, is_stacked=True), width)


def fill(number: int, width: int) -> Tile:
    """Return how full the outboxes are."""
    text = Text(
        "Outbox fill",
        "Writes waiting, as a share of what the outbox may hold; the dashed line is 80 %.",
        "rising without end: the service takes fewer writes than agents make.",
        "is a circuit open, a quota used up, a key rejected? At 100 % new writes are dropped or refused.",
        ("OutboxNearFull",),
    )
    query = Query(
        ratio(total(gauge(Gauge.OUTBOX_PENDING), *PER_OUTBOX), CAPACITY, *PER_OUTBOX),
        "{{provider}} {{instance}}",
    )
    look = Look(units.PercentUnit, ((None, GOOD), (slo.NEARLY_FULL, BAD)), maximum=1)
    return Tile(number, lines(text, look, query), width)


def oldest(number: int, width: int) -> Tile:
    """Return the age of what waits longest."""
    text = Text(
        "Oldest waiting write",
        "Age of the oldest write without a final outcome; the dashed line is five minutes.",
        "above the line and rising: nothing gets through.",
        "is a circuit open, a quota used up, a key rejected? One of them holds the writes back.",
        ("OutboxStale",),
    )
    query = Query(
        total(gauge(Gauge.OUTBOX_OLDEST_AGE), *PER_OUTBOX, how="max"), "{{provider}} {{instance}}"
    )
    look = Look(units.Seconds, ((None, GOOD), (slo.OUTBOX_OLD_S, BAD)))
    return Tile(number, lines(text, look, query), width)
