"""The catalogue of names: complete, closed, and called in Prometheus as the documentation says."""

import math
import re

import pytest

from memotel.counts import Count, Gauge
from memotel.telemetry import names
from memotel.telemetry.names import INSTRUMENTS, Instrument, Kind

PROMETHEUS_NAMES = {
    "memotel_recall_duration_seconds",
    "memotel_recalls_total",
    "memotel_recall_timeouts_total",
    "memotel_recall_context_size_bytes_total",
    "memotel_recall_truncated_total",
    "memotel_searches_total",
    "memotel_loop_blocked_total",
    "memotel_writes_accepted_total",
    "memotel_writes_adopted_total",
    "memotel_writes_resent_total",
    "memotel_writes_handed_over_total",
    "memotel_writes_total",
    "memotel_writes_deduplicated_total",
    "memotel_writes_unaccounted",
    "memotel_writes_refused_total",
    "memotel_write_delay_seconds",
    "memotel_retries_total",
    "memotel_outbox_pending",
    "memotel_outbox_parked",
    "memotel_outbox_foreign",
    "memotel_outbox_degraded",
    "memotel_outbox_damaged_total",
    "memotel_outbox_capacity",
    "memotel_outbox_size_bytes",
    "memotel_outbox_oldest_age_seconds",
    "memotel_quota_state",
    "memotel_quota_degraded_total",
    "memotel_ratelimit_remaining",
    "memotel_circuit_state",
    "memotel_credentials_rejected",
    "memotel_circuit_transitions_total",
    "memotel_clients_renewed_total",
    "memotel_permits_in_use",
    "memotel_permits_capacity",
    "memotel_build_info",
    "memotel_disabled",
    "gen_ai_client_operation_duration_seconds",
    "http_client_request_duration_seconds",
}
OPEN_LABELS = {
    ("memotel.build.info", "version"),
    ("http.client.request.duration", "error.type"),
    ("http.client.request.duration", "server.address"),
    ("http.client.request.duration", "server.port"),
    ("http.client.request.duration", "http.response.status_code"),
}
"""Labels whose values the convention leaves open, by instrument; every other one is closed."""
FORBIDDEN = re.compile("user|session|tenant|store|agent|text|prompt_text|query|key")


def test_counts_each_have_exactly_one_instrument() -> None:
    assert set(names.COUNTERS) == set(Count)
    assert set(names.GAUGES) == set(Gauge)
    assert len({instrument.name for instrument in INSTRUMENTS}) == len(INSTRUMENTS)


def test_prometheus_names_are_the_documented_ones() -> None:
    assert {instrument.prometheus_name for instrument in INSTRUMENTS} == PROMETHEUS_NAMES


@pytest.mark.parametrize("instrument", INSTRUMENTS, ids=lambda i: i.name)
def test_instrument_is_described_and_closed(instrument: Instrument) -> None:
    assert instrument.description.endswith(".")
    assert instrument.unit not in ("", "1")
    assert not re.search(r"_total|_seconds|_bytes", instrument.name)
    for label in instrument.labels:
        is_open = (instrument.name, label.name) in OPEN_LABELS
        assert (label.values is None) == is_open, label.name
        assert not FORBIDDEN.search(label.name), label.name
        assert label.values is None or all(label.values)


@pytest.mark.parametrize("instrument", names.HISTOGRAMS, ids=lambda i: i.name)
def test_histogram_bounds_are_rising_floats(instrument: Instrument) -> None:
    assert instrument.kind is Kind.HISTOGRAM
    assert all(type(bound) is float for bound in instrument.bounds)
    assert list(instrument.bounds) == sorted(set(instrument.bounds))


@pytest.mark.parametrize("instrument", [names.RECALL_DURATION, names.WRITE_DELAY])
def test_bounds_of_ours_are_never_whole(instrument: Instrument) -> None:
    assert not [bound for bound in instrument.bounds if math.floor(bound) == bound]


def test_recall_bounds_hold_the_thresholds_of_the_objectives() -> None:
    assert {0.3, 1.2, 2.5} <= set(names.RECALL_BOUNDS)
