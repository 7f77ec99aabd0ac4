"""Alerts on writes: what waits too long, what is about to be lost, what was refused, what does not add up."""

from dashboards.alerting import panels
from dashboards.alerting.promql import increase, now, series
from dashboards.alerting.rule import Alert, Severity
from dashboards.generator import slo
from dashboards.generator.slo import percent

from memotel.counts import Count, Gauge
from memotel.outcomes import WriteOutcome
from memotel.telemetry import names

BY = ("job", "provider")
PER_OUTBOX = ("job", "instance", "provider")
_GAUGES = names.GAUGES

OUTBOX_STALE = Alert(
    name="OutboxStale",
    expression=f"{now(_GAUGES[Gauge.OUTBOX_OLDEST_AGE], PER_OUTBOX, 'max')} > {slo.OUTBOX_OLD_S:g}",
    by=PER_OUTBOX,
    hold="5m",
    severity=Severity.WARNING,
    summary="Writes of {{ $labels.instance }} to {{ $labels.provider }} are stuck.",
    description="The oldest waiting write is {{ $value | humanizeDuration }} old. Nothing is lost yet; what people said since "
    "then is not remembered yet.",
    panel=panels.OLDEST_WRITE,
)

_PENDING = now(_GAUGES[Gauge.OUTBOX_PENDING], PER_OUTBOX)
_CAPACITY = now(_GAUGES[Gauge.OUTBOX_CAPACITY], PER_OUTBOX)

OUTBOX_NEAR_FULL = Alert(
    name="OutboxNearFull",
    expression=f"{_PENDING}\n/ on (job, instance, provider)\n({_CAPACITY} > 0)\n> {slo.NEARLY_FULL}",
    by=PER_OUTBOX,
    hold="10m",
    severity=Severity.CRITICAL,
    summary="The outbox of {{ $labels.instance }} for {{ $labels.provider }} is nearly full.",
    description="{{ $value | humanizePercentage }} of its places are taken, "
    f"more than {percent(slo.NEARLY_FULL)} for 10 minutes. When it is full, new turns are lost.",
    panel=panels.OUTBOX_FILL,
)

# A warning: while the process lives nothing is lost, and its writes are still sent. It ends by itself once the disk works.
OUTBOX_DEGRADED = Alert(
    name="OutboxDegraded",
    expression=f"{now(_GAUGES[Gauge.OUTBOX_DEGRADED], PER_OUTBOX)} > 0",
    by=PER_OUTBOX,
    hold="5m",
    severity=Severity.WARNING,
    summary="The disk of the outbox of {{ $labels.instance }} for {{ $labels.provider }} fails.",
    description="{{ $value }} of its outboxes keep new writes in memory. They are still delivered, but whatever waits is lost if "
    "the process ends before the disk works again: do not restart it yet.",
    panel=panels.DISK_FAILS,
)

UNACCOUNTED_WRITES = Alert(
    name="UnaccountedWrites",
    expression=f"max by ({', '.join(PER_OUTBOX)}) (abs({series(_GAUGES[Gauge.UNACCOUNTED])})) > 0",
    by=PER_OUTBOX,
    hold="10m",
    severity=Severity.WARNING,
    summary="The books of {{ $labels.instance }} for {{ $labels.provider }} do not balance.",
    description="{{ $value }} accepted writes are neither finished nor waiting, or were counted twice. "
    "This is a defect of memotel, not of the service.",
    panel=panels.WRITES_UNACCOUNTED,
)

_REJECTED = {"outcome": (WriteOutcome.REJECTED,)}

# Not a ratio: each dead letter is a turn that is lost unless somebody looks, so one is enough.
DEAD_LETTERS = Alert(
    name="DeadLetters",
    expression=f"{increase(names.COUNTERS[Count.WRITES], BY, '1h', only=_REJECTED)} > 0",
    by=BY,
    hold="",
    severity=Severity.WARNING,
    summary="{{ $labels.provider }} refuses writes of {{ $labels.job }} for good.",
    description='About {{ $value | printf "%.0f" }} writes became dead letters in the last hour. They are not sent again; '
    "their process keeps them for a while so that somebody can look at them.",
    panel=panels.WRITES_BY_OUTCOME,
)

WRITE_ALERTS = (
    OUTBOX_STALE,
    OUTBOX_NEAR_FULL,
    OUTBOX_DEGRADED,
    UNACCOUNTED_WRITES,
    DEAD_LETTERS,
)
