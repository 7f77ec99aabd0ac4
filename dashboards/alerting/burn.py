"""Multiwindow, multi-burn-rate rules for the objectives (SRE Workbook, chapter 5), windows as data."""

from dataclasses import dataclass

from dashboards.alerting.objectives import JOB, LEAST_EVENTS, OBJECTIVES, Objective
from dashboards.alerting.rule import Alert, Group, Record, Severity
from dashboards.generator.slo import percent

ERRORS = "memotel:slo_errors:ratio_rate"
EVENTS = "memotel:slo_events:increase"
OBJECTIVE = "memotel:slo_objective:ratio"
# Long windows change slowly and cost most; both intervals stay under the five minutes that a sample is looked back for.
QUICK = ("30s", ("5m", "30m", "1h"))
SLOW = ("2m", ("2h", "6h", "1d", "3d"))


@dataclass(frozen=True, slots=True)
class Burn:
    """A pair of windows: the long one says that it matters, the short one that it still goes on.

    `rate` 1 uses up the budget in exactly 30 days, 14.4 two percent of it in an hour.
    """

    severity: Severity
    hold: str
    long: str
    short: str
    rate: float


BURNS = (
    Burn(Severity.CRITICAL, "2m", "1h", "5m", 14.4),
    Burn(Severity.CRITICAL, "15m", "6h", "30m", 6),
    Burn(Severity.WARNING, "1h", "1d", "2h", 3),
    Burn(Severity.WARNING, "3h", "3d", "6h", 1),
)


def recording_groups() -> tuple[Group, ...]:
    """Return, for each objective and window, the events and the share of bad ones; no series where there are none."""
    quick, slow = (
        Group(
            f"memotel-slo-{name}",
            interval,
            tuple(
                record
                for objective in OBJECTIVES
                for window in windows
                for record in _records(objective, window)
            ),
        )
        for name, (interval, windows) in (("quick", QUICK), ("slow", SLOW))
    )
    targets = tuple(
        Record(OBJECTIVE, f"vector({each.objective})", {"slo": each.slo}) for each in OBJECTIVES
    )
    return Group(quick.name, quick.interval, (*targets, *quick.rules)), slow


def _records(objective: Objective, window: str) -> tuple[Record, Record]:
    labels = {"slo": objective.slo}
    events = f"{EVENTS}{window}"
    share = f'{objective.bad(window)}\n/ on (job)\n{events}{{slo="{objective.slo}"}}'
    return (
        Record(events, f"{objective.events(window)} > 0", labels),
        Record(f"{ERRORS}{window}", share, labels),
    )


def alerts() -> tuple[Alert, ...]:
    """Return the burn-rate alerts; raises ValueError where one could never fire."""
    return tuple(_alert(objective, burn) for objective in OBJECTIVES for burn in BURNS)


def _alert(objective: Objective, burn: Burn) -> Alert:
    if burn.rate * objective.budget >= 1:
        raise ValueError(f"{objective.slo} cannot burn {burn.rate:g} times too fast")
    return Alert(
        name=objective.alert,
        expression=_expression(objective, burn),
        by=JOB,
        hold=burn.hold,
        severity=burn.severity,
        summary=f"{objective.burning}: {{{{ $labels.job }}}} spends its error budget "
        f"at {burn.rate:g} times the rate that 30 days allow.",
        description=f"{{{{ $value | humanizePercentage }}}} {objective.counted} in the last {burn.long}, "
        f"and it goes on; {percent(objective.objective)} are promised to be good over 30 days.",
        panel=objective.panel,
        labels={"slo": objective.slo, "long": burn.long, "short": burn.short},
    )


def _expression(objective: Objective, burn: Burn) -> str:
    limit = f"({burn.rate:g} * {objective.budget:g})"
    where = f'{{slo="{objective.slo}"}}'
    return "\nand on (job) ".join(
        [
            f"{ERRORS}{burn.long}{where} > {limit}",
            f"{ERRORS}{burn.short}{where} > {limit}",
            f"{EVENTS}{burn.long}{where} >= {LEAST_EVENTS}",
            f"{EVENTS}{burn.short}{where} >= {LEAST_EVENTS}",
        ]
    )
