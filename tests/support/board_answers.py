"""What a Prometheus answers to a board's queries, judged."""

import math

from boards import Target
from prometheus_process import PrometheusServer


def unanswered(server: PrometheusServer, found: list[Target]) -> list[str]:
    """Return what is wrong with the answers: "panel: expression: no series" or "... [nan]"."""
    problems = []
    for target in found:
        values = [sample.value for sample in server.query(target.interpolated)]
        if not values or any(math.isnan(value) for value in values):
            problems.append(f"{target.panel}: {target.interpolated}: {values or 'no series'}")
    return problems
