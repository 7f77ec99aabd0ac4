"""Row 5: what becomes of accepted writes."""

from dashboards.generator.board import Row
from dashboards.generator.writes import common

WRITES = Row(
    "Is every write kept?",
    (
        common.by_outcome(21, width=8),
        common.fill(22, width=8),
        common.oldest(23, width=8),
    ),
)
