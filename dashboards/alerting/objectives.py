"""The three objectives as data: what they promise, which events they count, which of those are bad.

The indicators are exactly these. Answered = (hit + empty) / (all recalls but skipped, cancelled). Fast = answered within
0.3 s / answered. Kept = (stored + duplicate + ignored) / terminal.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dashboards.alerting import panels
from dashboards.alerting.promql import increase, within
from dashboards.alerting.rule import Panel
from dashboards.generator import slo
from dashboards.generator.sets import ANSWERED, KEPT, NOT_ASKED

from memotel.counts import Count
from memotel.telemetry import names

JOB = ("job",)
LEAST_EVENTS = 50
"""A ratio of fewer events in its window raises no alert: one bad event among ten says nothing."""

_RECALLS = names.COUNTERS[Count.RECALLS]
_WRITES = names.COUNTERS[Count.WRITES]
# What is not known to be good is bad, so that an outcome that is added one day counts against the objective.
_GOOD_OR_NOT_ASKED = {"outcome": (*ANSWERED["outcome"], *NOT_ASKED["outcome"])}


@dataclass(frozen=True, slots=True)
class Objective:
    """One objective over 30 days.

    Attributes:
        slo: its name, the value of the label `slo`.
        objective: the share of good events that is promised.
        alert: the name of its burn-rate alerts.
        bad: PromQL for the bad events of a window, by job.
        events: PromQL for all events of a window, by job.
        burning: what happens, for a summary.
        counted: what a bad event is, for a description.
        panel: where to look first.
    """

    slo: str
    objective: float
    alert: str
    bad: Callable[[str], str]
    events: Callable[[str], str]
    burning: str
    counted: str
    panel: Panel

    @property
    def budget(self) -> float:
        """The share of events that may be bad."""
        return round(1 - self.objective, 6)


def _slow(window: str) -> str:
    everything = increase(names.RECALL_DURATION, JOB, window, only=ANSWERED, suffix="_count")
    bucket = within(names.RECALL_DURATION, slo.FAST_S, only=ANSWERED)
    return f"({everything} - sum by (job) (increase({bucket}[{window}])))"


OBJECTIVES = (
    Objective(
        slo="recalls_answered",
        objective=slo.RECALLS_ANSWERED,
        alert="RecallErrorBudgetBurn",
        bad=lambda window: increase(_RECALLS, JOB, window, but=_GOOD_OR_NOT_ASKED),
        events=lambda window: increase(_RECALLS, JOB, window, but=NOT_ASKED),
        burning="Agents reply without the memory they asked for",
        counted="of the recalls were not answered",
        panel=panels.RECALLS_BY_OUTCOME,
    ),
    Objective(
        slo="recalls_fast",
        objective=slo.RECALLS_FAST,
        alert="RecallLatencyBudgetBurn",
        bad=_slow,
        events=lambda window: increase(
            names.RECALL_DURATION, JOB, window, only=ANSWERED, suffix="_count"
        ),
        burning="Memory is slow and replies wait for it",
        counted=f"of the answered recalls took more than {1000 * slo.FAST_S:g} ms",
        panel=panels.RECALL_LATENCY,
    ),
    Objective(
        slo="writes_kept",
        objective=slo.WRITES_KEPT,
        alert="WriteLossBudgetBurn",
        bad=lambda window: increase(_WRITES, JOB, window, but=KEPT),
        events=lambda window: increase(_WRITES, JOB, window),
        burning="Turns are being lost instead of remembered",
        counted="of the finished writes were not kept",
        panel=panels.WRITES_BY_OUTCOME,
    ),
)
