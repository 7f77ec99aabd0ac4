"""Row 3: how much may still go wrong this month, and how fast it is being used."""

from dashboards.alerting.burn import BURNS, ERRORS, OBJECTIVE
from dashboards.generator.board import Row
from dashboards.generator.colours import BAD, GOOD, WARN
from dashboards.generator.panels import Look, Query, Text, Tile, lines, stat_panel
from dashboards.generator.promql import ratio, recorded
from grafana_foundation_sdk.models import units

_ALLOWED = f"(1 - {OBJECTIVE})"
_MONTH = f"avg_over_time({recorded(f'{ERRORS}5m')}[30d])"
_BURNS = ("RecallErrorBudgetBurn", "RecallLatencyBudgetBurn", "WriteLossBudgetBurn")
_RATES = sorted({burn.rate for burn in BURNS})


def _of_budget(errors: str) -> str:
    return ratio(f"max by (slo) ({errors})", _ALLOWED, "slo")


BUDGET = Row(
    "How much of the error budget is left?",
    (
        Tile(
            53,
            stat_panel(
                Text(
                    "Error budget left, 30 days",
                    "What the objectives still allow to go wrong of the last 30 days: 100 % untouched, 0 % used up. "
                    "Weighted by time, from the recording rules; shorter where they have not run for 30 days.",
                    "below 25 %: the next outage breaks the promise.",
                    "see in *Burn rate* whether it goes on; if so, follow the runbook of that objective.",
                    _BURNS,
                ),
                Look(units.PercentUnit, ((None, BAD), (0.25, WARN), (0.5, GOOD)), maximum=1),
                Query(
                    f"clamp_min(1 - {_of_budget(_MONTH)}, 0)",
                    "{{slo}}",
                    is_instant=True,
                ),
                no_value="no recording rules",
            ),
            width=12,
            height=8,
        ),
        Tile(
            54,
            lines(
                Text(
                    "Burn rate",
                    "How many times faster than 30 days allow the budget is spent, over the last hour. "
                    f"The dashed lines are those of the alerts: {', '.join(f'{rate:g}' for rate in _RATES)}.",
                    "above 1 for days, or above 14.4 for an hour: the alerts of the same name fire.",
                    "the name of the line is the objective: answered and fast are recalls, kept is writes.",
                    _BURNS,
                ),
                Look(
                    units.Short,
                    ((None, GOOD), *((rate, WARN) for rate in _RATES[:-1]), (_RATES[-1], BAD)),
                ),
                Query(_of_budget(recorded(f"{ERRORS}1h")), "{{slo}}"),
            ),
            width=12,
            height=8,
        ),
    ),
)
