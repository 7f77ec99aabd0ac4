"""One colour per meaning, the same on every board. No meaning is told by colour alone: legends name each series."""

from collections.abc import Mapping

from memotel.outcomes import (
    CircuitState,
    DedupeKind,
    Operation,
    Outcome,
    QuotaEvidence,
    QuotaState,
    RetryCause,
    Speaker,
    WriteOutcome,
)

GOOD = "green"
WARN = "orange"
BAD = "red"
QUIET = "#8e8e8e"

OUTCOMES: Mapping[str, str] = {
    Outcome.HIT: GOOD,
    Outcome.EMPTY: "blue",
    Outcome.TIMEOUT: WARN,
    Outcome.UNAVAILABLE: BAD,
    Outcome.RATE_LIMITED: "yellow",
    Outcome.QUOTA: "purple",
    Outcome.REJECTED: "#b877d9",
    Outcome.CIRCUIT_OPEN: "dark-red",
    Outcome.SHED: "dark-orange",
    Outcome.SKIPPED: QUIET,
    Outcome.CANCELLED: "#5a5a5a",
    Outcome.INTERNAL_ERROR: "#ff00aa",
}
WRITE_OUTCOMES: Mapping[str, str] = {
    WriteOutcome.STORED: GOOD,
    WriteOutcome.DUPLICATE: "light-green",
    WriteOutcome.IGNORED: "blue",
    WriteOutcome.QUOTA: "purple",
    WriteOutcome.REJECTED: "#b877d9",
    WriteOutcome.EXPIRED: WARN,
    WriteOutcome.DROPPED: BAD,
}
DEDUPE_KINDS: Mapping[str, str] = {
    DedupeKind.ECHO: "blue",
    DedupeKind.REDELIVERY: "light-blue",
    DedupeKind.REPLAY: "light-green",
}
CIRCUIT: Mapping[str, str] = {
    CircuitState.CLOSED: GOOD,
    CircuitState.HALF_OPEN: WARN,
    CircuitState.OPEN: "dark-red",
}
QUOTA: Mapping[str, str] = {
    QuotaState.OK: GOOD,
    QuotaState.LIMITED: "light-purple",
    QuotaState.SILENT: "purple",
}
# A hue for what is wrong, a shade for what it happens to: Grafana's own palette has too few hues for all pairs.
_SHADES: Mapping[str, str] = {
    Operation.RECALL: "{}",
    Operation.SEARCH: "light-{}",
    Operation.SAVE: "super-light-{}",
    Operation.WRITE: "dark-{}",
}
RETRY_CAUSES: Mapping[str, str] = {
    RetryCause.CONNECTION: "red",
    RetryCause.STATUS: "blue",
    RetryCause.RATE_LIMIT: "yellow",
    RetryCause.TIMEOUT: WARN,
}
_MODES: Mapping[str, str] = {QuotaEvidence.STRICT: "blue", QuotaEvidence.SILENT: "purple"}
RETRIES: Mapping[str, str] = {
    f"{operation} {cause}": shade.format(hue)
    for operation, shade in _SHADES.items()
    for cause, hue in RETRY_CAUSES.items()
}
QUOTA_DEGRADED: Mapping[str, str] = {
    f"{operation} {mode}": shade.format(hue)
    for operation, shade in _SHADES.items()
    for mode, hue in _MODES.items()
}
QUANTILES: Mapping[str, str] = {"p50": GOOD, "p95": "yellow", "p99": WARN}
ALERTS: Mapping[str, str] = {"quiet": GOOD, "pending": WARN, "firing": BAD}
DEGRADED: Mapping[str, str] = {"fine": GOOD, "degraded": BAD}
BOOKS: Mapping[str, str] = {"in": "blue", "out": GOOD}
DAYS: Mapping[str, str] = {"today": GOOD, "yesterday": QUIET}
FAILURES: Mapping[str, str] = {
    outcome: colour
    for outcome, colour in OUTCOMES.items()
    if outcome not in (Outcome.HIT, Outcome.EMPTY, Outcome.SKIPPED, Outcome.CANCELLED)
}
SPEAKERS: Mapping[str, str] = {
    Speaker.HUMAN: "blue",
    Speaker.AI: "light-green",
    Speaker.OTHER: QUIET,
}
KEPT_OFF: Mapping[str, str] = {
    outcome: OUTCOMES[outcome] for outcome in (Outcome.CIRCUIT_OPEN, Outcome.SHED)
}
SCRAPES: Mapping[str, str] = {"unreachable": BAD, "read": GOOD}
