"""Alerts on what the service allows an account: its plan, its key, its patience."""

from dashboards.alerting import panels
from dashboards.alerting.objectives import LEAST_EVENTS
from dashboards.alerting.promql import increase, now
from dashboards.alerting.rule import Alert, Severity

from memotel.counts import Count, Gauge
from memotel.outcomes import QuotaState
from memotel.telemetry import names

BY = ("job", "provider")
WINDOW = "10m"
STORM = 0.5

_SILENT = now(names.GAUGES[Gauge.QUOTA_STATE], BY, only={"state": (QuotaState.SILENT,)})

SILENT_QUOTA = Alert(
    name="SilentQuota",
    expression=f"{_SILENT} > 0",
    by=BY,
    hold="5m",
    severity=Severity.CRITICAL,
    summary="The plan at {{ $labels.provider }} is used up, and the service hides it.",
    description="In {{ $labels.job }}, {{ $value }} accounts (added up over processes) get empty answers in place of memories, "
    "and their writes are not stored. It ends only when the plan is renewed or raised.",
    panel=panels.QUOTA,
)

KEY_REJECTED = Alert(
    name="KeyRejected",
    expression=f"{now(names.GAUGES[Gauge.CREDENTIALS_REJECTED], BY)} > 0",
    by=BY,
    hold="5m",
    severity=Severity.CRITICAL,
    summary="{{ $labels.provider }} rejects the key of {{ $labels.job }}.",
    description="{{ $value }} accounts (added up over processes) neither recall nor store; their writes wait in the outbox. "
    "A valid key is picked up by itself within a minute where it comes from a file or a callable.",
    panel=panels.KEYS_REJECTED,
)

_RETRIES = increase(names.COUNTERS[Count.RETRIES], BY, WINDOW)
_OPERATIONS = "\n  + ".join(
    increase(names.COUNTERS[count], BY, WINDOW)
    for count in (Count.RECALLS, Count.SEARCHES, Count.ACCEPTED)
)

RETRY_STORM = Alert(
    name="RetryStorm",
    expression=f"{_RETRIES}\n/ on (job, provider)\n(\n  {_OPERATIONS}\n  >= {LEAST_EVENTS}\n)\n> {STORM}",
    by=BY,
    hold="10m",
    severity=Severity.WARNING,
    summary="{{ $labels.job }} retries {{ $labels.provider }} more than once in two operations.",
    description='{{ $value | printf "%.2f" }} retries for each recall, search and write of the last 10m: the service is unwell, '
    "or limits the rate, even where outcomes still look good.",
    panel=panels.RETRIES,
)

ACCOUNT_ALERTS = (SILENT_QUOTA, KEY_REJECTED, RETRY_STORM)
