"""Row 2: what is degraded right now, and what the alerts say of it."""

from dashboards.generator import colours, slo
from dashboards.generator.board import Row
from dashboards.generator.panels import Query, Text, Tile, timeline
from dashboards.generator.promql import counter, gauge, rate, ratio, total
from dashboards.generator.sets import PER_OUTBOX

from memotel.counts import Count, Gauge
from memotel.outcomes import CircuitState, Outcome, QuotaState

_RECALLS = counter(Count.RECALLS)
_OPEN = {"state": (CircuitState.OPEN, CircuitState.HALF_OPEN)}
_USED_UP = {"state": (QuotaState.LIMITED, QuotaState.SILENT)}
_FILL = ratio(
    total(gauge(Gauge.OUTBOX_PENDING), *PER_OUTBOX),
    total(gauge(Gauge.OUTBOX_CAPACITY), *PER_OUTBOX),
    *PER_OUTBOX,
)


def _ends_in(outcome: Outcome) -> str:
    return f"{rate(_RECALLS, only={'outcome': (outcome,)})} > bool 0"


def _firing(state: str) -> str:
    matchers = f'component="memotel", alertstate="{state}", job=~"$job"'
    return f"max by (alertname) (ALERTS{{{matchers}}})"


DEGRADED = Row(
    "What is degraded right now?",
    (
        Tile(
            51,
            timeline(
                Text(
                    "Degraded now",
                    "Each way in which agents can be short of memory, whether or not an alert has noticed it yet.",
                    "a red band that reaches the right edge: it goes on.",
                    "go to the row or board of that name: Protection for the upper ones, Writes for the outbox.",
                ),
                colours.DEGRADED,
                Query(
                    f"{total(gauge(Gauge.CIRCUIT_STATE), only=_OPEN)} > bool 0",
                    "Circuit not closed",
                ),
                Query(
                    f"{total(gauge(Gauge.QUOTA_STATE), only=_USED_UP)} > bool 0", "Quota used up"
                ),
                Query(f"{total(gauge(Gauge.CREDENTIALS_REJECTED))} > bool 0", "Key rejected"),
                Query(_ends_in(Outcome.TIMEOUT), "Recalls time out"),
                Query(_ends_in(Outcome.RATE_LIMITED), "Rate limited"),
                Query(_ends_in(Outcome.SHED), "Recalls shed"),
                Query(
                    f"{total(gauge(Gauge.OUTBOX_OLDEST_AGE), how='max')} > bool {slo.OUTBOX_OLD_S:g}",
                    "Outbox old",
                ),
                Query(f"max({_FILL}) > bool {slo.NEARLY_FULL}", "Outbox nearly full"),
                Query(f"{total(gauge(Gauge.OUTBOX_DEGRADED))} > bool 0", "Outbox's disk fails"),
                Query(f"{total(gauge(Gauge.DISABLED))} > bool 0", "Switched off"),
                no_value="no processes",
            ),
            width=14,
            height=10,
        ),
        Tile(
            52,
            timeline(
                Text(
                    "Alerts",
                    "Alerts of memotel that are pending or firing. Empty while all is well, and also where the rules of "
                    "dashboards/rules are not loaded.",
                    "firing: somebody should be at it already.",
                    "open the page of that name in dashboards/runbooks; each begins with the first five minutes.",
                ),
                colours.ALERTS,
                Query(f"2 * {_firing('firing')} or {_firing('pending')}", "{{alertname}}"),
                no_value="nothing pending or firing",
            ),
            width=10,
            height=10,
        ),
    ),
)
