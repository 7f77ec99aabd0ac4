"""A scrape's text from tables: byte for byte what prometheus_client writes, at a fraction of its time.

Only families that memotel gathered are written here; what the application registered itself, and whatever is unusual,
goes through prometheus_client. A scrape of thousands of series then takes less than an agent's reply would notice.
"""

import bisect
from collections.abc import Callable, Iterator
from functools import lru_cache

from opentelemetry.sdk.metrics.export import HistogramDataPoint
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client import Metric as Family
from prometheus_client.core import Exemplar
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from memotel.telemetry.families import Shape, Shown, Table, buckets, latest

_LABELS = 8_192
"""More than there are label values in one scrape of an orderly process; beyond it labels are only written anew."""
_EXPONENT_FROM = 1_000_000
"""From here on prometheus_client writes an exponent, as Go does."""
_END = b"# EOF\n"
_write_openmetrics: Callable[[Collector], bytes] = generate_openmetrics
_write_number: Callable[[float], str] = floatToGoString


class _One(Collector):
    """A registry of one family, for prometheus_client to write."""

    def __init__(self, family: Family) -> None:
        self._family = family

    def collect(self) -> Iterator[Family]:
        yield self._family


def render(registry: CollectorRegistry, *, is_openmetrics: bool) -> bytes:
    """Return every family of `registry`, in the text format or in OpenMetrics 1.0."""
    parts: list[bytes] = []
    for family in registry.collect():
        if isinstance(family, Shown) and _is_plain(family.table):
            parts.append("".join(_lines(family, is_openmetrics)).encode())
        elif is_openmetrics:
            parts.append(_write_openmetrics(_One(family)).removesuffix(_END))
        else:
            parts.append(generate_latest(_One(family)))
    return b"".join((*parts, _END)) if is_openmetrics else b"".join(parts)


def _is_plain(table: Table) -> bool:
    """Whether no name needs escaping, and no label of a histogram is its own `le`."""
    is_histogram = table.shape is Shape.HISTOGRAM
    return ":" not in table.name and not (is_histogram and "le" in table.keys)


def _lines(family: Shown, is_openmetrics: bool) -> list[str]:
    table = family.table
    lines, keys = [_head(family, is_openmetrics)], table.keys
    is_counter = table.shape is Shape.COUNTER
    for pairs, point in table.rows.items():
        known = dict(pairs)
        labels = [_label(key, known.get(key, "")) for key in keys]
        if isinstance(point, HistogramDataPoint):
            place = bisect.bisect(keys, "le")
            lines += _histogram(table.name, place, labels, point, has_exemplars=is_openmetrics)
        else:
            is_traced = is_openmetrics and is_counter
            example = _example(latest(point.exemplars)) if is_traced else ""
            lines.append(f"{table.name}{_braced(labels)} {_number(point.value)}{example}\n")
    return lines


def _head(family: Shown, is_openmetrics: bool) -> str:
    words = family.documentation.replace("\\", r"\\").replace("\n", r"\n")
    if not is_openmetrics:
        name = family.table.name
        return f"# HELP {name} {words}\n# TYPE {name} {family.type}\n"
    name, words = family.name, words.replace('"', r"\"")
    unit = f"# UNIT {name} {family.unit}\n" if family.unit else ""
    return f"# HELP {name} {words}\n# TYPE {name} {family.type}\n{unit}"


def _histogram(
    name: str, place: int, labels: list[str], point: HistogramDataPoint, *, has_exemplars: bool
) -> list[str]:
    """Return the lines of one series; `place` is where `le` stands among its sorted labels."""
    before = "".join(f"{label}," for label in labels[:place])
    after = "".join(f",{label}" for label in labels[place:])
    head, tail = f'{name}_bucket{{{before}le="', f'"{after}}} '
    found = buckets(point)
    lines = [
        f"{head}{le}{tail}{_number(total)}{_example(*examples) if has_exemplars else ''}\n"
        for le, total, *examples in found
    ]
    if float(found[0][0]) >= 0:  # as prometheus_client: a sum of values below zero is no counter
        shown = _braced(labels)
        lines.append(f"{name}_count{shown} {_number(found[-1][1])}\n")
        lines.append(f"{name}_sum{shown} {_number(point.sum)}\n")
    return lines


def _braced(labels: list[str]) -> str:
    return f"{{{','.join(labels)}}}" if labels else ""


@lru_cache(_LABELS)
def _label(key: str, value: str) -> str:
    escaped = value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return f'{key}="{escaped}"'


def _example(exemplar: Exemplar | None = None) -> str:
    if exemplar is None:
        return ""
    labels = ",".join(f'{key}="{value}"' for key, value in sorted(exemplar.labels.items()))
    return f" # {{{labels}}} {_write_number(exemplar.value)} {exemplar.timestamp}"


def _number(value: float) -> str:
    if type(value) is int and 0 <= value < _EXPONENT_FROM:
        return f"{value}.0"
    return _write_number(value)
