"""Row 4: what recalls bring back, and how long replies wait for it."""

from dashboards.generator.board import Row
from dashboards.generator.panels import Look, Query, Text, Tile, lines
from dashboards.generator.promql import rate, ratio
from dashboards.generator.recall import common
from dashboards.generator.sets import ANSWERED, HITS
from grafana_foundation_sdk.models import units

_HIT_RATIO = Tile(
    15,
    lines(
        Text(
            "Hit ratio",
            "Share of answered recalls that brought memories, by provider.",
            "a sudden fall with no new users: the memory may be gone, or the scope is wrong.",
            "compare with *Quota* and, on the Recall board, with yesterday; then search for a fact that must be there.",
            ("SilentAmnesia",),
        ),
        Look(units.PercentUnit, maximum=1),
        Query(
            ratio(
                rate(common.RECALLS, "provider", only=HITS),
                rate(common.RECALLS, "provider", only=ANSWERED),
                "provider",
            ),
            "{{provider}}",
        ),
    ),
    width=12,
)

RECALLS = Row(
    "What do recalls bring, and how fast?",
    (
        common.by_outcome(11, width=12),
        common.latency(12, width=12),
        common.timeouts(14, width=12),
        _HIT_RATIO,
    ),
)
