"""Alerts on recalls that look well and are not, or that the circuit breaker turns away."""

from dashboards.alerting import panels
from dashboards.alerting.objectives import LEAST_EVENTS
from dashboards.alerting.promql import increase, now
from dashboards.alerting.rule import Alert, Record, Severity
from dashboards.generator.sets import ANSWERED, HITS

from memotel.counts import Count, Gauge
from memotel.outcomes import CircuitState, Outcome
from memotel.telemetry import names

BY = ("job", "provider")
HIT_RATIO = "memotel:recall_hits:ratio_rate"
COLLAPSED_TO = 0.25
LEAST_BASELINE = 0.2
"""Where memories were rarely found before, a fall cannot be told from chance."""

_RECALLS = names.COUNTERS[Count.RECALLS]


def _hit_ratio(window: str) -> Record:
    hits = increase(_RECALLS, BY, window, only=HITS)
    answered = increase(_RECALLS, BY, window, only=ANSWERED)
    return Record(
        f"{HIT_RATIO}{window}", f"{hits}\n/ on (job, provider)\n({answered} >= {LEAST_EVENTS})"
    )


RECORDS = (_hit_ratio("30m"), _hit_ratio("1d"))

SILENT_AMNESIA = Alert(
    name="SilentAmnesia",
    expression=f"{HIT_RATIO}30m\n< on (job, provider)\n{COLLAPSED_TO} * ({HIT_RATIO}1d offset 1h >= {LEAST_BASELINE})",
    by=BY,
    hold="15m",
    severity=Severity.WARNING,
    summary="{{ $labels.provider }} answers {{ $labels.job }}, but hardly finds memories any more.",
    description="Only {{ $value | humanizePercentage }} of the answered recalls in the last 30m brought memories, less than a "
    "quarter of what the day before brought: wrong scope, emptied store, or a plan that is used up without saying so.",
    panel=panels.HIT_RATIO,
)

_NOT_CLOSED = now(
    names.GAUGES[Gauge.CIRCUIT_STATE],
    BY,
    only={"state": (CircuitState.OPEN, CircuitState.HALF_OPEN)},
)
_TURNED_AWAY = increase(_RECALLS, BY, "10m", only={"outcome": (Outcome.CIRCUIT_OPEN,)})

# A circuit probes only when a recall arrives, so the gauge of an idle process stays open: no reply suffers from that.
CIRCUIT_OPEN = Alert(
    name="CircuitOpen",
    expression=f"{_NOT_CLOSED} > 0\nand on (job, provider)\n{_TURNED_AWAY} > 0",
    by=BY,
    hold="5m",
    severity=Severity.WARNING,
    summary="{{ $labels.provider }} has been failing for {{ $labels.job }} for 5 minutes.",
    description="{{ $value }} circuit breakers are open: recalls come back at once without memories, writes wait in the outbox. "
    "It closes by itself when the service answers again.",
    panel=panels.CIRCUIT,
)

RECALL_ALERTS = (SILENT_AMNESIA, CIRCUIT_OPEN)
