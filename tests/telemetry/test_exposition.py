"""The Prometheus exposition: clean in both formats, exemplars, and nothing that fails a whole scrape."""

import logging
import re
import subprocess
from collections.abc import Iterable

import pytest
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_process import require_binary
from telemetry_rig import Rig, hit, make_call, make_write, settling

from memotel.outcomes import Adapter, Provider, WriteOutcome
from memotel.telemetry.conservation import declare_client
from memotel.telemetry.exposition import PrometheusReader
from memotel.values import WriteAnswer


class Scraped:
    """A rig whose metrics appear in a registry."""

    def __init__(self, *views: View) -> None:
        self.registry = CollectorRegistry()
        self.reader = PrometheusReader(self.registry)
        if views:
            self.meters = MeterProvider(
                (self.reader,),
                Resource({"service.name": "svc"}),
                views=views,
                shutdown_on_exit=False,
            )
        else:
            self.rig = Rig(readers=(self.reader,))
            self.meters = self.rig.meters

    def text(self) -> str:
        return generate_latest(self.registry).decode()

    def openmetrics(self) -> str:
        return generate_openmetrics(self.registry).decode()


@pytest.fixture
def scraped() -> Scraped:
    """A registry that shows one recall, one write and every declared series."""
    made = Scraped()
    declare_client(made.rig.counts, Provider.MEMORYSYNC, Adapter.AG2)
    made.rig.run(make_call(), hit)
    made.rig.run(
        make_write(age_s=3), settling(WriteOutcome.STORED, WriteAnswer(WriteOutcome.STORED))
    )
    return made


def samples(text: str, name: str) -> list[str]:
    """Return the lines of one sample name."""
    return [line for line in text.splitlines() if re.match(rf"{name}[{{ ]", line)]


def promtool(text: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [require_binary("promtool"), "check", "metrics"],
        input=text,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_text_format_is_clean_under_promtool(scraped: Scraped) -> None:
    checked = promtool(scraped.text())
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_promtool_check_can_fail(scraped: Scraped) -> None:
    assert promtool(scraped.text() + 'memotel_recalls_total{a="b"} nonsense\n').returncode != 0


def test_both_formats_parse_and_agree(scraped: Scraped) -> None:
    text = {family.name: family for family in parse_text(scraped.text())}
    opened = {f.name: f for f in text_string_to_metric_families(scraped.openmetrics())}
    for name in ("memotel_recalls", "memotel_outbox_pending", "memotel_recall_duration_seconds"):
        assert text[name].type == opened[name].type
        assert text[name].documentation == opened[name].documentation
        assert len(text[name].samples) == len(opened[name].samples)
    assert opened["memotel_recall_duration_seconds"].unit == "seconds"


def test_labels_have_no_dots_and_no_scope(scraped: Scraped) -> None:
    text = scraped.text()
    assert "otel_scope" not in text
    (line, *_) = samples(text, "gen_ai_client_operation_duration_seconds_count")
    assert line.startswith(
        'gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name="search_memory",'
        'gen_ai_provider_name="memorysync"} '
    )


def test_missing_labels_are_empty(scraped: Scraped) -> None:
    scraped.rig.instruments.record_operation(0.1, {"error.type": "timeout"}, None)
    for line in samples(scraped.text(), "gen_ai_client_operation_duration_seconds_count"):
        assert 'error_type="' in line
        assert 'gen_ai_operation_name="' in line


def test_buckets_are_cumulative_floats(scraped: Scraped) -> None:
    lines = samples(scraped.text(), "http_client_request_duration_seconds_bucket")
    assert lines == []
    scraped.rig.instruments.record_http(3.0, {"http.request.method": "GET"}, None)
    lines = samples(scraped.text(), "http_client_request_duration_seconds_bucket")
    bounds = [re.search('le="([^"]+)"', line)[1] for line in lines]  # type: ignore[index] # no match is a failure
    assert bounds[-5:] == ["2.5", "5.0", "7.5", "10.0", "+Inf"]
    assert all("." in bound for bound in bounds[:-1])
    assert [line.rpartition(" ")[2] for line in lines[-5:]] == ["0.0", "1.0", "1.0", "1.0", "1.0"]


def test_integer_bounds_of_others_are_printed_as_floats() -> None:
    made = Scraped()
    histogram = made.meters.get_meter("app").create_histogram(
        "app.steps", explicit_bucket_boundaries_advisory=[1, 10]
    )
    histogram.record(2)
    lines = samples(made.text(), "app_steps_bucket")
    assert [re.search('le="([^"]+)"', line)[1] for line in lines] == [  # type: ignore[index] # no match is a failure
        "1.0",
        "10.0",
        "+Inf",
    ]


def test_exemplars_name_the_trace_and_the_span(scraped: Scraped) -> None:
    context = scraped.rig.span("search_memory").context
    assert context is not None
    families = {f.name: f for f in text_string_to_metric_families(scraped.openmetrics())}
    found = [s.exemplar for s in families["memotel_recall_duration_seconds"].samples if s.exemplar]
    (exemplar,) = found
    assert exemplar.labels == {
        "trace_id": format(context.trace_id, "032x"),
        "span_id": format(context.span_id, "016x"),
    }
    assert exemplar.timestamp is not None


def test_exemplar_stands_in_the_bucket_of_its_value() -> None:
    made = Scraped()
    meter = made.meters.get_meter("app")
    histogram = meter.create_histogram("app.steps", explicit_bucket_boundaries_advisory=[1.0, 10.0])
    with made.rig.tracers.get_tracer("app").start_as_current_span("x"):
        for value in (1.0, 5.0, 50.0):
            histogram.record(value)
    lines = samples(made.openmetrics(), "app_steps_bucket")
    assert [float(line.split("} ")[2].split()[0]) for line in lines] == [1.0, 5.0, 50.0]


def test_exponential_histogram_is_skipped_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    made = Scraped(
        View(instrument_type=Histogram, aggregation=ExponentialBucketHistogramAggregation())
    )
    meter = made.meters.get_meter("app")
    meter.create_histogram("app.latency").record(1)
    meter.create_counter("app.jobs").add(1)
    with caplog.at_level(logging.WARNING, "memotel.telemetry"):
        first, second = made.text(), made.text()
    assert "app_jobs_total" in first
    assert "app_jobs_total" in second
    assert "app_latency" not in first
    (record,) = caplog.records
    assert "app.latency" in record.getMessage()


def test_apps_own_metrics_stand_beside_ours(scraped: Scraped) -> None:
    Counter("app_orders", "Orders.", registry=scraped.registry).inc()
    text = scraped.text()
    assert samples(text, "app_orders_total") == ["app_orders_total 1.0"]
    assert samples(text, "memotel_recalls_total")
    assert promtool(text).returncode == 0
    assert "# EOF" in scraped.openmetrics()


def test_two_readers_in_one_registry_give_no_series_twice(scraped: Scraped) -> None:
    second = PrometheusReader(scraped.registry)
    other = Rig(readers=(second,))
    other.run(make_call(), hit)
    text = scraped.text()
    assert len(samples(text, "target_info")) == 1
    series = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(series) == len(set(series))
    assert text.count("# HELP memotel_recalls_total") == 1
    assert promtool(text).returncode == 0


def test_other_readers_are_not_disturbed() -> None:
    made = Scraped()
    made.rig.run(make_call(), hit)
    first = made.text()
    assert samples(first, "memotel_recalls_total") == samples(made.text(), "memotel_recalls_total")
    assert len(made.rig.points("memotel.recalls")) == 1


def test_same_name_from_two_meters_has_one_help_line() -> None:
    made = Scraped()
    for scope in ("one", "two"):
        counter = made.meters.get_meter(scope).create_counter("app.jobs", description=scope)
        counter.add(1, {"who": scope})
        counter.add(1, {"who": "both"})
    text = made.text()
    assert text.count("# HELP app_jobs_total") == 1
    assert len(samples(text, "app_jobs_total")) == 3
    assert promtool(text).returncode == 0


def test_name_with_two_meanings_is_left_out_once_and_said(caplog: pytest.LogCaptureFixture) -> None:
    made = Scraped()
    made.meters.get_meter("one").create_gauge("app.depth").set(1)
    made.meters.get_meter("two").create_histogram("app.depth").record(1)
    text = made.text()
    assert text.count("# TYPE app_depth") == 1
    assert "app.depth is left out" in caplog.text


def test_values_of_every_type_become_labels() -> None:
    made = Scraped()
    counter = made.meters.get_meter("app").create_counter("app.jobs", description="Jobs.")
    counter.add(
        2, {"n": 3, "ok": True, "list": ("a", "b"), "a.b": "x", "a_b": "y", "q": 'say "hi"\n'}
    )
    (line,) = samples(made.text(), "app_jobs_total")
    assert line == (
        'app_jobs_total{a_b="x;y",list="[\\"a\\", \\"b\\"]",n="3",ok="true",q="say \\"hi\\"\\n"} 2.0'
    )
    assert promtool(made.text()).returncode == 0


def test_every_kind_of_instrument_has_its_type() -> None:
    made = Scraped()
    meter = made.meters.get_meter("app")

    def observed(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(5)]

    meter.create_counter("app.apples", description="A.").add(1)
    meter.create_up_down_counter("app.boxes", description="B.").add(-1)
    meter.create_gauge("app.crates", description="C.").set(1.5)
    meter.create_observable_counter("app.doors", [observed], description="D.")
    meter.create_observable_gauge("app.eggs", [observed], description="E.")
    meter.create_observable_up_down_counter("app.forks", [observed], description="F.")
    meter.create_histogram("app.gaps", description="G.").record(1)
    text = made.text()
    found = dict(re.findall(r"# TYPE (app_\S+) (\S+)", text))
    assert found == {
        "app_apples_total": "counter",
        "app_boxes": "gauge",
        "app_crates": "gauge",
        "app_doors_total": "counter",
        "app_eggs": "gauge",
        "app_forks": "gauge",
        "app_gaps": "histogram",
    }
    assert promtool(text).returncode == 0
    assert list(text_string_to_metric_families(made.openmetrics()))


def test_resource_is_shown_as_target_info() -> None:
    made = Scraped(View(instrument_name="nothing.*", name=None))
    made.meters.get_meter("app").create_counter("app.jobs").add(1)
    (line,) = samples(made.text(), "target_info")
    assert line == 'target_info{service_name="svc"} 1.0'


def test_reader_without_provider_shows_nothing() -> None:
    registry = CollectorRegistry()
    PrometheusReader(registry)
    assert generate_latest(registry) == b""


def test_shutdown_takes_the_metrics_away_and_is_idempotent(scraped: Scraped) -> None:
    scraped.reader.shutdown()
    scraped.reader.shutdown()
    assert "memotel" not in scraped.text()
    again = PrometheusReader(scraped.registry)
    Rig(readers=(again,)).run(make_call(), hit)
    assert "memotel_recalls_total" in scraped.text()


def test_reader_is_cumulative() -> None:
    reader = PrometheusReader(CollectorRegistry())
    memory = InMemoryMetricReader()
    rig = Rig(readers=(reader, memory))
    rig.instruments.record_http(0.1, {}, None)
    data = reader.read()
    assert data is not None
    (scope,) = data.resource_metrics[0].scope_metrics
    (metric,) = [m for m in scope.metrics if m.name == "http.client.request.duration"]
    temporality = getattr(metric.data, "aggregation_temporality", None)
    assert temporality is AggregationTemporality.CUMULATIVE
