"""Row 6: circuit, quota, retries and permits."""

from dashboards.generator.board import Row
from dashboards.generator.protection import common

PROTECTION = Row(
    "What protects the agents right now?",
    (
        common.circuit(31, width=12),
        common.quota(32, width=12),
        common.retries(34, width=12),
        common.in_flight(35, width=12),
    ),
)
