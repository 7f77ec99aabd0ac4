"""PromQL from the names of `memotel.telemetry.names`: a metric, label or value that does not exist raises here.

Every selector carries the board's variables; every aggregation says `by`; every rate uses `$__rate_interval`.
"""

from collections.abc import Iterable, Mapping

from memotel.counts import Count, Gauge
from memotel.telemetry import names
from memotel.telemetry.names import Instrument, Kind

PROVIDER = "provider"
Values = Mapping[str, Iterable[str]]
_NONE: Values = {}


def counter(count: Count) -> Instrument:
    """Return the instrument of a counter."""
    return names.COUNTERS[count]


def gauge(name: Gauge) -> Instrument:
    """Return the instrument of a gauge."""
    return names.GAUGES[name]


def select(
    instrument: Instrument, *, only: Values = _NONE, but: Values = _NONE, suffix: str = ""
) -> str:
    """Return a selector: the board's variables, `only` these label values, all `but` those."""
    matchers = ['job=~"$job"', 'instance=~"$instance"']
    if PROVIDER in instrument.label_names:
        matchers.append('provider=~"$provider"')
    matchers += [_match(instrument, label, "=~", values) for label, values in only.items()]
    matchers += [_match(instrument, label, "!~", values) for label, values in but.items()]
    return f"{instrument.prometheus_name}{suffix}{{{', '.join(matchers)}}}"


def _match(instrument: Instrument, label: str, operator: str, values: Iterable[str]) -> str:
    allowed = next(known.values for known in instrument.labels if known.name == label)
    wanted = tuple(values)
    unknown = sorted(set(wanted) - set(allowed or wanted))
    if unknown:
        raise ValueError(f"{instrument.name}: {label} is never {unknown[0]!r}")
    return f'{label}{operator}"{"|".join(wanted)}"'


def rate(
    instrument: Instrument,
    *by: str,
    only: Values = _NONE,
    but: Values = _NONE,
    suffix: str = "",
    ago: str = "",
) -> str:
    """Return events per second, summed `by` labels (none: over everything), now or as they were `ago`."""
    if instrument.kind is Kind.GAUGE:
        raise ValueError(f"{instrument.name} is a gauge and has no rate")
    series = select(instrument, only=only, but=but, suffix=suffix)
    offset = f" offset {ago}" if ago else ""
    return f"{_sum(by)}(rate({series}[$__rate_interval]{offset}))"


def events(instrument: Instrument, *by: str, only: Values = _NONE, but: Values = _NONE) -> str:
    """Return how many events the shown range saw, summed `by` labels."""
    if instrument.kind is not Kind.COUNTER:
        raise ValueError(f"{instrument.name} is no counter")
    return f"{_sum(by)}(increase({select(instrument, only=only, but=but)}[$__range]))"


def total(
    instrument: Instrument,
    *by: str,
    only: Values = _NONE,
    but: Values = _NONE,
    how: str = "sum",
) -> str:
    """Return a gauge now, aggregated by `how` over the labels not in `by`."""
    return f"{_sum(by, how)}({select(instrument, only=only, but=but)})"


def ratio(good: str, everything: str, *on: str) -> str:
    """Return good / everything; no series, rather than NaN, where there is nothing."""
    matching = f" on ({', '.join(on)})" if on else ""
    return f"{good} /{matching} ({everything} > 0)"


def quantile(share: float, histogram: Instrument, *by: str, only: Values = _NONE) -> str:
    """Return a quantile in the histogram's unit; no series, rather than NaN, where there is nothing."""
    rates = rate(histogram, *by, "le", only=only, suffix="_bucket")
    return f"histogram_quantile({share}, {rates}) >= 0"


def increase(histogram: Instrument, *, only: Values = _NONE) -> str:
    """Return the events of each bucket of a histogram, for a heatmap."""
    series = select(histogram, only=only, suffix="_bucket")
    return f"sum by (le) (increase({series}[$__rate_interval]))"


def within(histogram: Instrument, bound: float, *, only: Values = _NONE) -> str:
    """Return the events per second that took at most `bound`, which must be one of the histogram's bounds."""
    if bound not in histogram.bounds:
        raise ValueError(f"{histogram.name} has no bound {bound}")
    series = select(histogram, only=only, suffix="_bucket")
    series = f'{series[:-1]}, le="{bound}"}}'
    return f"sum(rate({series}[$__rate_interval]))"


def recorded(name: str) -> str:
    """Return a recording rule's series of the chosen jobs; rules keep no instance."""
    return f'{name}{{job=~"$job"}}'


def scraped(name: str) -> str:
    """Return one of the series that Prometheus itself makes of every scrape, such as `up`."""
    return f'{name}{{job=~"$job", instance=~"$instance"}}'


def _sum(by: tuple[str, ...], how: str = "sum") -> str:
    return f"{how} by ({', '.join(by)}) " if by else how
