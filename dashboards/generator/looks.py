"""Looks that several boards share: an objective, a number that must be zero."""

from dashboards.generator.colours import BAD, GOOD, WARN
from dashboards.generator.panels import Look
from grafana_foundation_sdk.models import units


def objective(least: float) -> Look:
    """Return green from `least` on, orange down to twice the errors that it allows, red below."""
    return Look(units.PercentUnit, ((None, BAD), (2 * least - 1, WARN), (least, GOOD)), maximum=1)


MUST_BE_ZERO = Look(units.Short, ((None, GOOD), (1, BAD)))
NUMBER = Look(units.Short, ((None, "blue"),))
