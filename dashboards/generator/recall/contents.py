"""Row 3: what recalls bring, and what it costs in tokens."""

from dashboards.generator import colours
from dashboards.generator.board import Row
from dashboards.generator.panels import Look, Query, Text, Tile, lines
from dashboards.generator.promql import counter, rate, ratio
from dashboards.generator.recall.common import RECALLS
from dashboards.generator.sets import ANSWERED, HITS
from grafana_foundation_sdk.models import units

from memotel.counts import Count

_BYTES = counter(Count.CONTEXT_BYTES)
YESTERDAY = "1d"


def _hit_ratio(ago: str = "") -> str:
    return ratio(rate(RECALLS, only=HITS, ago=ago), rate(RECALLS, only=ANSWERED, ago=ago))


CONTENTS = Row(
    "What do they bring?",
    (
        Tile(
            31,
            lines(
                Text(
                    "Hit ratio against yesterday",
                    "Share of answered recalls that brought memories, and the same a day before. In its first 24 hours a "
                    "Prometheus has no yesterday, and the second line is missing.",
                    "today far below yesterday: agents forget, though every recall is answered.",
                    "search for a fact that must be there; check user, session and project ids after a deployment.",
                    ("SilentAmnesia", "SilentQuota"),
                ),
                Look(units.PercentUnit, colours=colours.DAYS, maximum=1),
                Query(_hit_ratio(), "today"),
                Query(_hit_ratio(YESTERDAY), "yesterday"),
            ),
            width=12,
        ),
        Tile(
            32,
            lines(
                Text(
                    "Memory put before models",
                    "Bytes of memory per second that models were shown, by adapter. Four bytes are about one token.",
                    "it doubles without more recalls: memories have grown, and so has the bill for tokens.",
                    "lower `top_k` or `max_context_chars`.",
                ),
                Look(units.BytesPerSecondSI),
                Query(rate(_BYTES, "adapter"), "{{adapter}}"),
                is_stacked=True,
            ),
            width=6,
        ),
        Tile(
            33,
            lines(
                Text(
                    "Memory in one hit",
                    "Bytes of memory in a recall that brought any, by provider.",
                    "it falls towards 0: memories are found but say little. It nears `max_context_chars`: they are cut.",
                    "look at the records of one trace (content has to be captured for that).",
                ),
                Look(units.BytesSI),
                Query(
                    ratio(
                        rate(_BYTES, "provider"), rate(RECALLS, "provider", only=HITS), "provider"
                    ),
                    "{{provider}}",
                ),
            ),
            width=6,
        ),
    ),
)
