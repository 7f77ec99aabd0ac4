"""Every series a board may ask for, by its name: memotel's own, the recording rules', and those of Prometheus itself."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml
from boards import DASHBOARDS

from memotel.telemetry.names import INSTRUMENTS, Kind

RULES = DASHBOARDS / "rules" / "memotel.rules.yml"
OF_A_PROCESS = 'job=~"$job", instance=~"$instance"'
OF_A_JOB = 'job=~"$job"'
_SCRAPES = ("up", "scrape_duration_seconds", "scrape_samples_scraped")
_HISTOGRAM = ("_bucket", "_sum", "_count")


@dataclass(frozen=True, slots=True)
class Series:
    """What a series is like: its labels and their values (None: open), and the matchers that narrow it to the choice above.

    `is_cumulative` ones are read as rates; `bounds` are those of a histogram.
    """

    labels: Mapping[str, tuple[str, ...] | None]
    narrowed: str
    is_cumulative: bool = False
    bounds: tuple[float, ...] = ()


def _rules() -> list[dict[str, object]]:
    document = yaml.safe_load(RULES.read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def alerts() -> set[str]:
    """Return the names of all alerts."""
    return {str(rule["alert"]) for rule in _rules() if "alert" in rule}


def _instruments() -> dict[str, Series]:
    return {
        f"{instrument.prometheus_name}{suffix}": Series(
            {label.prometheus_name: label.values for label in instrument.labels},
            OF_A_PROCESS,
            instrument.kind is not Kind.GAUGE,
            instrument.bounds,
        )
        for instrument in INSTRUMENTS
        for suffix in (_HISTOGRAM if instrument.kind is Kind.HISTOGRAM else ("",))
    }


def _recorded() -> dict[str, Series]:
    names = {str(rule["record"]): str(rule["expr"]) for rule in _rules() if "record" in rule}
    return {
        name: Series({"slo": None}, "" if re.match(r"vector\(", expression) else OF_A_JOB)
        for name, expression in names.items()
    }


SERIES: Mapping[str, Series] = {
    **_instruments(),
    **_recorded(),
    **{name: Series({}, OF_A_PROCESS) for name in _SCRAPES},
    "ALERTS": Series(
        {"alertname": None, "component": ("memotel",), "alertstate": ("pending", "firing")},
        OF_A_JOB,
    ),
}
