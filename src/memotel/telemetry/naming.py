"""How an OpenTelemetry instrument is called in Prometheus: pure rules, no imports of either.

Source: OpenTelemetry specification, "Prometheus and OpenMetrics Compatibility", read November 2026.
"""

import re
from functools import lru_cache

_NAMES = 4_096
"""More than one process has names of instruments and of their attributes; each scrape asks for all of them."""
_INVALID = re.compile(r"[^a-zA-Z0-9_:]")
_INVALID_LABEL = re.compile(r"[^a-zA-Z0-9_]")
_REPEATED = re.compile(r"_{2,}")
_UNITS = {
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
    "min": "minutes",
    "h": "hours",
    "d": "days",
    "By": "bytes",
    "KiBy": "kibibytes",
    "MiBy": "mebibytes",
    "kBy": "kilobytes",
    "MBy": "megabytes",
    "m": "meters",
    "V": "volts",
    "A": "amperes",
    "J": "joules",
    "W": "watts",
    "g": "grams",
    "Cel": "celsius",
    "Hz": "hertz",
    "%": "percent",
}


@lru_cache(_NAMES)
def prometheus_unit(unit: str) -> str:
    """Return the unit as a suffix without its underscore; empty for none, `1` and `{annotation}`."""
    plain = re.sub(r"\{[^}]*\}", "", unit)
    if plain in ("", "1"):
        return ""
    top, slash, bottom = plain.partition("/")
    per = f"per_{_one(bottom)}" if slash and bottom else ""
    words = [_UNITS.get(top, top), per]
    return _INVALID.sub("_", "_".join(word for word in words if word)).strip("_")


def _one(unit: str) -> str:
    return _UNITS.get(unit, unit).removesuffix("s")


@lru_cache(_NAMES)
def prometheus_name(name: str, unit: str, *, is_counter: bool) -> str:
    """Return the family's name with its unit, and `_total` for a counter."""
    base = _REPEATED.sub("_", _INVALID.sub("_", name)).strip("_")
    base = base.removesuffix("_total") if is_counter else base
    suffix = prometheus_unit(unit)
    if suffix and not base.endswith(f"_{suffix}"):
        base = f"{base}_{suffix}"
    base = f"_{base}" if base[:1].isdigit() else base
    return f"{base}_total" if is_counter else base


@lru_cache(_NAMES)
def prometheus_label(name: str) -> str:
    """Return an attribute's name as a label's: dots and other characters become underscores."""
    label = _INVALID_LABEL.sub("_", name)
    return f"key_{label}" if label[:1].isdigit() else label
