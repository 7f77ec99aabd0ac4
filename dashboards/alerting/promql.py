"""PromQL for rules, from the names of `memotel.telemetry.names`: a label or value that does not exist raises here.

Every aggregation says `by`, so that labels which an exporter or a relabelling adds never split an alert.
"""

from collections.abc import Iterable, Mapping

from memotel.telemetry.names import Instrument, Kind

Values = Mapping[str, Iterable[str]]
_NONE: Values = {}


def series(
    instrument: Instrument, *, only: Values = _NONE, but: Values = _NONE, suffix: str = ""
) -> str:
    """Return a selector: `only` these label values, all `but` those."""
    matchers = [_match(instrument, label, "=", values) for label, values in only.items()]
    matchers += [_match(instrument, label, "!", values) for label, values in but.items()]
    return _selector(f"{instrument.prometheus_name}{suffix}", matchers)


def increase(
    instrument: Instrument,
    by: tuple[str, ...],
    window: str,
    *,
    only: Values = _NONE,
    but: Values = _NONE,
    suffix: str = "",
) -> str:
    """Return how many events a counter or histogram saw in `window`, added up `by` labels."""
    if instrument.kind is Kind.GAUGE:
        raise ValueError(f"{instrument.name} is a gauge and does not increase")
    found = series(instrument, only=only, but=but, suffix=suffix)
    return f"sum by ({', '.join(by)}) (increase({found}[{window}]))"


def within(instrument: Instrument, bound: float, *, only: Values = _NONE) -> str:
    """Return the selector of the bucket that ends at `bound`, which must be one of the histogram's bounds."""
    if bound not in instrument.bounds:
        # A bucket that does not exist has no series, and an alert on it would stay silent for ever.
        raise ValueError(f"{instrument.name} has no bound {bound}")
    matchers = [_match(instrument, label, "=", values) for label, values in only.items()]
    return _selector(f"{instrument.prometheus_name}_bucket", [*matchers, f'le="{bound}"'])


def now(
    instrument: Instrument, by: tuple[str, ...], how: str = "sum", *, only: Values = _NONE
) -> str:
    """Return a gauge now, aggregated by `how` over the labels not in `by`."""
    return f"{how} by ({', '.join(by)}) ({series(instrument, only=only)})"


def _selector(name: str, matchers: list[str]) -> str:
    return f"{name}{{{', '.join(matchers)}}}" if matchers else name


def _match(instrument: Instrument, label: str, sign: str, values: Iterable[str]) -> str:
    allowed = next(known.values for known in instrument.labels if known.name == label)
    wanted = tuple(values)
    unknown = sorted(set(wanted) - set(allowed or wanted))
    if unknown:
        raise ValueError(f"{instrument.name}: {label} is never {unknown[0]!r}")
    is_one = len(wanted) == 1
    operator = {"=": "=" if is_one else "=~", "!": "!=" if is_one else "!~"}[sign]
    return f'{label}{operator}"{"|".join(wanted)}"'
