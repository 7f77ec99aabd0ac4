"""Row 4: who asks, and what was cut or in the way on our side."""

from dashboards.generator import colours
from dashboards.generator.board import Row
from dashboards.generator.panels import Look, Query, Text, Tile, lines
from dashboards.generator.promql import counter, rate
from dashboards.generator.recall.common import RECALLS
from grafana_foundation_sdk.models import units

from memotel.counts import Count

CALLERS = Row(
    "Who asks, and what is in the way?",
    (
        Tile(
            41,
            lines(
                Text(
                    "Recalls by adapter",
                    "Recalls per second by the framework that asked, with the service.",
                    "one line falls to 0 while the others go on: that framework's hook is not called any more.",
                    "was the framework updated? `memotel doctor` names the versions that were tested.",
                ),
                Look(units.OpsPerSecond),
                Query(rate(RECALLS, "adapter", "provider"), "{{adapter}} {{provider}}"),
            ),
            width=6,
        ),
        Tile(
            42,
            lines(
                Text(
                    "Searches by outcome",
                    "Explicit searches per second, as tools and applications make them, by how they ended.",
                    "anything but hit and empty: the caller got an exception that says so.",
                    "the same causes as for recalls, with a budget of their own (`search_timeout`).",
                ),
                Look(units.OpsPerSecond, colours=colours.OUTCOMES),
                Query(rate(counter(Count.SEARCHES), "outcome"), "{{outcome}}"),
                is_stacked=True,
            ),
            width=6,
        ),
        Tile(
            43,
            lines(
                Text(
                    "Cut to size",
                    "Recalls per second whose prompt (the question) or context (the memories) was cut.",
                    "context, steadily: the last memories never reach the model.",
                    "raise `max_context_chars` or lower `top_k`; for prompts `max_prompt_chars`.",
                ),
                Look(units.OpsPerSecond),
                Query(rate(counter(Count.TRUNCATED), "part"), "{{part}}"),
            ),
            width=6,
        ),
        Tile(
            44,
            lines(
                Text(
                    "Blocked event loops",
                    "Recalls per second of a synchronous chat inside a running event loop: they hold that loop up.",
                    "anything above 0 in a server: other requests wait for this one's memory.",
                    "use the asynchronous chat (`a_initiate_chat`) there; each wait is bounded by the budget.",
                ),
                Look(units.OpsPerSecond),
                Query(rate(counter(Count.LOOP_BLOCKED), "provider"), "{{provider}}"),
            ),
            width=6,
        ),
    ),
)
