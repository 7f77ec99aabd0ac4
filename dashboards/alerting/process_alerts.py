"""Alerts on the processes themselves: memory switched off, metrics gone."""

from dashboards.alerting import panels
from dashboards.alerting.promql import now, series
from dashboards.alerting.rule import Alert, Severity

from memotel.counts import Gauge
from memotel.telemetry import names

MEMORY_DISABLED = Alert(
    name="MemoryDisabled",
    expression=f"{now(names.GAUGES[Gauge.DISABLED], ('job', 'part'))} > 0",
    by=("job", "part"),
    hold="30m",
    severity=Severity.WARNING,
    summary="{{ $labels.job }} runs with {{ $labels.part }} switched off.",
    description="MEMOTEL_DISABLED has turned {{ $labels.part }} off in {{ $value }} processes for half an hour. "
    "If that was an emergency brake, it is still on.",
    panel=panels.SWITCHED_OFF,
)

_BUILD = series(names.BUILD_INFO)

TELEMETRY_ABSENT = Alert(
    name="TelemetryAbsent",
    expression=f"group by (job) (present_over_time({_BUILD}[1d]))\nunless on (job)\ngroup by (job) ({_BUILD})",
    by=("job",),
    hold="15m",
    severity=Severity.WARNING,
    summary="{{ $labels.job }} shows no memory metrics any more.",
    description="It did within the last day. The processes are gone, are not scraped, or export nothing; "
    "until it is back, every other alert on them is blind.",
    panel=panels.INSTANCES,
)

PROCESS_ALERTS = (MEMORY_DISABLED, TELEMETRY_ABSENT)
