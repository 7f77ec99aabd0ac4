"""The text of a scrape is prometheus_client's to the byte, whoever writes it, and so are the answers over HTTP."""

import math
from collections.abc import Callable, Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Enum,
    Gauge,
    Histogram,
    Info,
    Summary,
    generate_latest,
    make_wsgi_app,
)
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from telemetry_rig import Rig, hit, make_call, make_write, settling

from memotel.outcomes import Adapter, Provider, WriteOutcome
from memotel.telemetry.conservation import declare_client
from memotel.telemetry.exposition import PrometheusReader
from memotel.telemetry.families import Shown
from memotel.telemetry.rendering import render
from memotel.telemetry.serving import application
from memotel.values import WriteAnswer


class Still(CollectorRegistry):
    """A registry of what another one had at one moment: exemplars are gone once they were read."""

    def __init__(self, source: CollectorRegistry) -> None:
        super().__init__()
        self.families = list(source.collect())

    def collect(self) -> Iterator[object]:  # type: ignore[override] # families of one moment
        yield from self.families


def assert_same(registry: CollectorRegistry) -> Still:
    """Both formats of one moment are those of prometheus_client; return that moment."""
    still = Still(registry)
    assert render(still, is_openmetrics=False) == generate_latest(still)
    assert render(still, is_openmetrics=True) == generate_openmetrics(still)
    return still


def meters_in(registry: CollectorRegistry, *views: View) -> MeterProvider:
    return MeterProvider(
        (PrometheusReader(registry),),
        Resource({"service.name": 'a "quoted" \\ name'}),
        views=views,
        shutdown_on_exit=False,
    )


@pytest.fixture
def registry() -> CollectorRegistry:
    """Everything that a client of each kind shows, after a recall and a write under a sampled span."""
    made = CollectorRegistry()
    rig = Rig(readers=(PrometheusReader(made),))
    for provider in Provider:
        for adapter in Adapter:
            declare_client(rig.counts, provider, adapter)
    rig.run(make_call(), hit)
    rig.run(make_write(age_s=3), settling(WriteOutcome.STORED, WriteAnswer(WriteOutcome.STORED)))
    rig.instruments.record_http(0.1, {"http.request.method": "GET"}, None)
    return made


def test_our_own_metrics_are_written_as_prometheus_client_writes_them(
    registry: CollectorRegistry,
) -> None:
    still = assert_same(registry)
    assert b' # {span_id="' in render(still, is_openmetrics=True)
    assert sum(isinstance(family, Shown) for family in still.families) > 25


def test_an_applications_own_metrics_stand_between_ours(registry: CollectorRegistry) -> None:
    Counter("app_orders", "Orders.", ["shop"], registry=registry).labels("a\n\\b").inc()
    Gauge("app_depth", 'Depth of "it".', registry=registry).set(math.nan)
    Summary("app_time", "Time.", registry=registry).observe(2)
    Histogram("app_size", "Size.", registry=registry).observe(3, {"trace_id": "1"})
    Info("app", "App.", registry=registry).info({"version": "1"})
    Enum("app_state", "State.", states=["on", "off"], registry=registry)
    assert_same(registry)


def test_unusual_instruments_are_written_the_same() -> None:
    registry = CollectorRegistry()
    below = View(
        instrument_name="app.below", aggregation=ExplicitBucketHistogramAggregation((-1.5, 2))
    )
    bare = View(instrument_name="app.bare", aggregation=ExplicitBucketHistogramAggregation(()))
    meter = meters_in(registry, below, bare).get_meter("app")
    for name in ("app.below", "app.bare", "app.plain"):
        histogram = meter.create_histogram(name, "s", 'Says "x" \\ y\nz')
        histogram.record(1.25, {"le0": "a", "lea": "b", "Z": "c"})
    meter.create_histogram("app.own.le").record(1, {"le": "mine"})
    meter.create_up_down_counter("app.boxes", "By", "B.").add(-3)
    counter = meter.create_counter("app.jobs", "{job}", "J.")
    counter.add(2, {"n": 3, "ok": True, "a.b": "x", "a_b": "y", "q": 'say "hi"\n\\'})
    counter.add(1_234_567)
    for number, value in enumerate((1e6, 999_999, 0.1, 1e-9, 1e21, math.inf, -math.inf, math.nan)):
        meter.create_gauge("app.value").set(value, {"n": number})
    still = assert_same(registry)
    assert b'le="-1.5"' in render(still, is_openmetrics=False)
    assert b"app_below_seconds_sum" not in render(still, is_openmetrics=False)


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from(["a", "le", "lf", "b.c", "é", "9"]), st.text()),
            st.integers(-(10**9), 10**9) | st.floats(),
        ),
        max_size=6,
    )
)
def test_any_labels_and_values_are_written_the_same(
    points: list[tuple[dict[str, str], float]],
) -> None:
    registry = CollectorRegistry()
    meter = meters_in(registry).get_meter("app")
    gauge, histogram = meter.create_gauge("app.value"), meter.create_histogram("app.time", "s")
    for labels, value in points:
        clean = {key: text.encode(errors="replace").decode() for key, text in labels.items()}
        gauge.set(value, clean)
        if 0 <= value < math.inf:
            histogram.record(value, clean)
    assert_same(registry)


def test_empty_registry_has_no_text() -> None:
    registry = CollectorRegistry()
    assert render(registry, is_openmetrics=False) == generate_latest(registry) == b""
    assert render(registry, is_openmetrics=True) == generate_openmetrics(registry)


Answer = tuple[str, list[tuple[str, str]], bytes]


def ask(
    app: Callable[..., Iterable[bytes]],
    *,
    accept: str | None = None,
    method: str = "GET",
    query: str = "",
    path: str = "/metrics",
    encoding: str | None = None,
) -> Answer:
    """Send one request to a WSGI application."""
    started: list[tuple[str, list[tuple[str, str]]]] = []
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query}
    if accept is not None:
        environ["HTTP_ACCEPT"] = accept
    if encoding is not None:
        environ["HTTP_ACCEPT_ENCODING"] = encoding
    body = b"".join(app(environ, lambda status, headers: started.append((status, headers))))
    return *started[0], body


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "*/*",
        "text/plain;version=0.0.4",
        "text/plain;version=1.0.0;escaping=allow-utf-8",
        "application/openmetrics-text",
        "application/openmetrics-text;version=0.0.1,text/plain;version=0.0.4;q=0.5",
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6",
        "application/openmetrics-text;version=1.0.0;escaping=underscores",
        "application/openmetrics-text;version=1.0.0;escaping=dots",
        "text/plain;version=1.0.0;escaping=values",
    ],
)
def test_answers_are_those_of_prometheus_client(
    registry: CollectorRegistry, accept: str | None
) -> None:
    still = Still(registry)
    assert ask(application(still), accept=accept) == ask(make_wsgi_app(still), accept=accept)


def test_everything_but_a_plain_get_is_left_to_prometheus_client(
    registry: CollectorRegistry,
) -> None:
    Counter("app_orders", "Orders.", registry=registry).inc()
    ours, theirs = application(registry), make_wsgi_app(registry)
    for asked in (
        {"query": "name[]=app_orders_total"},
        {"method": "POST"},
        {"method": "OPTIONS"},
        {"path": "/favicon.ico"},
    ):
        assert ask(ours, **asked) == ask(theirs, **asked)
    _, headers, body = ask(ours, encoding="gzip")
    assert ("Content-Encoding", "gzip") in headers
    assert body.startswith(b"\x1f\x8b")
