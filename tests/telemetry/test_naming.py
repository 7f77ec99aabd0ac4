"""From OpenTelemetry names to Prometheus names."""

import pytest

from memotel.telemetry.naming import prometheus_label, prometheus_name


@pytest.mark.parametrize(
    ("name", "unit", "is_counter", "expected"),
    [
        ("memotel.recalls", "{recall}", True, "memotel_recalls_total"),
        ("http.client.request.duration", "s", False, "http_client_request_duration_seconds"),
        ("app.size", "By", True, "app_size_bytes_total"),
        ("app.size.bytes", "By", False, "app_size_bytes"),
        ("app.ratio", "1", False, "app_ratio"),
        ("app.speed", "m/s", False, "app_speed_meters_per_second"),
        ("app.rate", "{req}/s", False, "app_rate_per_second"),
        ("app.jobs_total", "", True, "app_jobs_total"),
        ("app.load", "%", False, "app_load_percent"),
        ("app..odd--name", "", False, "app_odd_name"),
        ("2fast", "", False, "_2fast"),
        ("app.wait", "ms", False, "app_wait_milliseconds"),
    ],
)
def test_prometheus_name_follows_the_specification(
    name: str, unit: str, is_counter: bool, expected: str
) -> None:
    assert prometheus_name(name, unit, is_counter=is_counter) == expected


def test_prometheus_label_has_no_dots_and_starts_with_a_letter() -> None:
    assert prometheus_label("http.request.method") == "http_request_method"
    assert prometheus_label("1st") == "key_1st"
