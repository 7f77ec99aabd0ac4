"""Row 1: are recalls answered, and what happens to those that are not."""

from dashboards.generator import colours, slo
from dashboards.generator.board import Row
from dashboards.generator.looks import objective
from dashboards.generator.panels import Look, Query, Text, Tile, lines, stat_panel
from dashboards.generator.promql import rate, ratio, within
from dashboards.generator.recall.common import RECALLS, by_outcome
from dashboards.generator.sets import ANSWERED, HITS, NOT_ASKED, WITHOUT_MEMORY
from grafana_foundation_sdk.models import units

from memotel.telemetry import names

_ASKED = rate(RECALLS, but=NOT_ASKED)
_FAST = ratio(
    within(names.RECALL_DURATION, slo.FAST_S, only=ANSWERED),
    rate(names.RECALL_DURATION, only=ANSWERED, suffix="_count"),
)

ANSWERS = Row(
    "Are recalls answered?",
    (
        Tile(
            1,
            stat_panel(
                Text(
                    "Recalls answered",
                    "Share of recalls that the service answered, with memories or truly without. "
                    f"Objective {slo.percent(slo.RECALLS_ANSWERED)}.",
                    "below the objective: some replies are made without the memory they asked for.",
                    "see which outcome grows in *Recalls by outcome*.",
                    ("RecallErrorBudgetBurn",),
                ),
                objective(slo.RECALLS_ANSWERED),
                Query(ratio(rate(RECALLS, only=ANSWERED), _ASKED), "answered"),
            ),
            width=6,
            height=4,
        ),
        Tile(
            2,
            stat_panel(
                Text(
                    "Answered within 300 ms",
                    "Share of answered recalls that took at most 300 ms. "
                    f"Objective {slo.percent(slo.RECALLS_FAST)}.",
                    "below the objective: people wait noticeably longer for their replies.",
                    "look for a second band in *Wait distribution*, then at *Timeouts by phase*.",
                    ("RecallLatencyBudgetBurn",),
                ),
                objective(slo.RECALLS_FAST),
                Query(_FAST, "fast"),
            ),
            width=6,
            height=4,
        ),
        Tile(
            3,
            stat_panel(
                Text(
                    "Hits",
                    "Share of answered recalls that brought memories.",
                    "it is a matter of the application; what counts is a fall against yesterday.",
                    "compare in *Hit ratio against yesterday*.",
                    ("SilentAmnesia",),
                ),
                Look(units.PercentUnit, ((None, "blue"),), maximum=1),
                Query(ratio(rate(RECALLS, only=HITS), rate(RECALLS, only=ANSWERED)), "hits"),
            ),
            width=6,
            height=4,
        ),
        Tile(
            4,
            stat_panel(
                Text(
                    "Recalls per second",
                    "How often agents ask for memory, short prompts left out.",
                    "0 while people talk to agents: memory is not attached, or is switched off.",
                    "see Switched off on the Protection board, and the log of the process.",
                    ("MemoryDisabled", "TelemetryAbsent"),
                ),
                Look(units.OpsPerSecond, ((None, "blue"),)),
                Query(_ASKED, "recalls"),
            ),
            width=6,
            height=4,
        ),
        by_outcome(11, width=12),
        Tile(
            12,
            lines(
                Text(
                    "Replies made without memory",
                    "Share of the recalls that were asked for and failed, by how. A skipped recall is none of them.",
                    "any band that stays: those replies know nothing of the person.",
                    "the name of the band says whose fault it is; a quota or a rejected key does not heal by itself.",
                    ("RecallErrorBudgetBurn",),
                ),
                Look(units.PercentUnit, colours=colours.FAILURES, maximum=1),
                Query(
                    f"{rate(RECALLS, 'outcome', only=WITHOUT_MEMORY)} / on () group_left () ({_ASKED} > 0)",
                    "{{outcome}}",
                ),
                is_stacked=True,
            ),
            width=12,
        ),
    ),
)
