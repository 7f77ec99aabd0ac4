"""Counters and gauges: one snapshot per collection, series from the start, the conservation law."""

import threading
from collections.abc import Iterable

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import Gauge as GaugeData
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, Sum
from telemetry_rig import Rig, run_python

from memotel.counts import Count, Counts, Gauge, Labels
from memotel.outcomes import Adapter, Outcome, Provider, WriteOutcome
from memotel.telemetry import names
from memotel.telemetry.conservation import NOT_DECLARED, declare_client, unaccounted
from memotel.telemetry.instruments import Instruments
from memotel.telemetry.observables import Snapshots

M, AG2 = Provider.MEMORYSYNC, Adapter.AG2


def test_client_that_was_built_has_every_series_at_zero(rig: Rig) -> None:
    declare_client(rig.counts, M, AG2)
    metrics = rig.metrics()
    for key, instrument in (names.COUNTERS | names.GAUGES).items():
        if key in NOT_DECLARED:
            continue
        expected = 1
        for label in instrument.labels:
            is_fixed = label in (names.PROVIDER, names.ADAPTER)
            expected *= 1 if is_fixed else len(label.values or ())
        points = metrics[instrument.name].data.data_points
        assert len(points) == expected, instrument.name
        assert {point.value for point in points} == {0}
        assert all(tuple(p.attributes or {}) == instrument.label_names for p in points)


def test_unknown_rate_limit_is_absent_rather_than_zero(rig: Rig) -> None:
    declare_client(rig.counts, M, AG2)
    assert "memotel.ratelimit.remaining" not in rig.metrics()


def test_instruments_have_the_documented_kind_unit_and_description(rig: Rig) -> None:
    declare_client(rig.counts, M, AG2)
    metrics = rig.metrics()
    for instrument in (*names.COUNTERS.values(), *names.GAUGES.values(), names.BUILD_INFO):
        if instrument.name == "memotel.ratelimit.remaining":
            continue
        metric = metrics[instrument.name]
        assert metric.unit == instrument.unit
        assert metric.description == instrument.description
        expected = Sum if instrument.kind is names.Kind.COUNTER else GaugeData
        assert type(metric.data) is expected
        if isinstance(metric.data, Sum):
            assert metric.data.is_monotonic


def test_label_values_are_plain_strings(rig: Rig) -> None:
    rig.counts.add(Count.RECALLS, M, AG2, Outcome.HIT)
    (labels,) = rig.points("memotel.recalls")
    assert labels == (("adapter", "ag2"), ("outcome", "hit"), ("provider", "memorysync"))
    assert {type(value) for _, value in labels} == {str}


def test_build_info_names_the_version(rig: Rig) -> None:
    ((labels, point),) = rig.points("memotel.build.info").items()
    ((key, version),) = labels
    assert key == "version"
    assert version[0].isdigit()
    assert point.value == 1


@pytest.mark.parametrize(
    ("value", "recall", "writes"), [("", 0, 0), ("recall", 1, 0), ("all", 1, 1)]
)
def test_off_switches_are_shown(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, value: str, recall: int, writes: int
) -> None:
    monkeypatch.setenv("MEMOTEL_DISABLED", value)
    points = {labels: point.value for labels, point in rig.points("memotel.disabled").items()}
    assert points == {(("part", "recall"),): recall, (("part", "writes"),): writes}


def test_law_holds_and_says_what_is_missing(rig: Rig) -> None:
    counts = rig.counts
    counts.apply((Count.ACCEPTED, (M, AG2, "ai"), 7), (Gauge.OUTBOX_PENDING, (M,), 7))
    counts.add(Count.ADOPTED, M, by=2)
    counts.add(Count.RESENT, M)
    counts.apply(
        (Count.WRITES, (M, AG2, "ai", WriteOutcome.STORED), 3),
        (Gauge.OUTBOX_PENDING, (M,), -2),
        (Count.HANDED_OVER, (M,), 1),
    )
    assert unaccounted(counts.snapshot()) == {("memorysync",): 1}
    ((_, point),) = rig.points("memotel.writes.unaccounted").items()
    assert point.value == 1


def test_gauge_that_a_source_gives_wins_over_the_computed_one(rig: Rig) -> None:
    rig.counts.add_source(lambda: [(Gauge.UNACCOUNTED, (M,), 5.0)])
    ((_, point),) = rig.points("memotel.writes.unaccounted").items()
    assert point.value == 5


class Pausing(Counts):
    """Counts snapshots, and lets a write happen between the reads of two instruments."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = 0

    def snapshot(self) -> dict[Count | Gauge, dict[Labels, float]]:
        self.taken += 1
        taken = super().snapshot()
        self.apply((Count.ACCEPTED, (M, AG2, "ai"), 1), (Gauge.OUTBOX_PENDING, (M,), 1))
        return taken


def test_instruments_of_one_collection_read_one_snapshot() -> None:
    counts = Pausing()
    rig = Rig()
    rig.counts = counts
    counts.apply((Count.ACCEPTED, (M, AG2, "ai"), 1), (Gauge.OUTBOX_PENDING, (M,), 1))
    for collection in range(1, 4):
        metrics = rig.metrics()
        accepted, pending, missing = (
            sum(p.value for p in metrics[name].data.data_points)
            for name in (
                "memotel.writes.accepted",
                "memotel.outbox.pending",
                "memotel.writes.unaccounted",
            )
        )
        assert (accepted, pending, missing) == (collection, collection, 0)
        assert counts.taken == collection


def test_collections_under_load_always_balance() -> None:
    rig = Rig()
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            rig.counts.apply((Count.ACCEPTED, (M, AG2, "ai"), 1), (Gauge.OUTBOX_PENDING, (M,), 1))
            rig.counts.apply(
                (Count.WRITES, (M, AG2, "ai", "stored"), 1), (Gauge.OUTBOX_PENDING, (M,), -1)
            )

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(50):
            points = rig.points("memotel.writes.unaccounted").values()
            assert {point.value for point in points} <= {0}
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert rig.counts.total(Count.ACCEPTED) > 0


def test_two_readers_each_see_everything() -> None:
    second = InMemoryMetricReader()
    rig = Rig(readers=(second,))
    rig.counts.add(Count.SEARCHES, M, AG2, "hit")
    assert len(rig.points("memotel.searches")) == 1
    data = second.get_metrics_data()
    assert data is not None
    (scope,) = data.resource_metrics[0].scope_metrics
    assert "memotel.searches" in {metric.name for metric in scope.metrics}


def test_snapshot_is_not_shared_between_threads() -> None:
    counts = Counts()
    snapshots = Snapshots(lambda: counts)
    assert snapshots.read(Count.ADOPTED) == {}
    counts.add(Count.ADOPTED, M)
    seen: list[dict[Labels, float]] = []
    thread = threading.Thread(target=lambda: seen.append(snapshots.read(Count.RESENT)))
    thread.start()
    thread.join()
    assert snapshots.read(Count.ADOPTED) == {("memorysync",): 1}
    assert seen == [{}]


def test_source_that_fails_leaves_the_other_metrics(rig: Rig) -> None:
    def broken() -> Iterable[tuple[Gauge, Labels, float]]:
        raise RuntimeError("no such outbox")

    rig.counts.add_source(broken)
    assert "memotel.build.info" in rig.metrics()


def test_meters_can_be_replaced() -> None:
    reader = InMemoryMetricReader()
    counts = Counts()
    counts.add(Count.ADOPTED, M)
    instruments = Instruments(counts=lambda: counts)
    instruments.use_meters(MeterProvider((reader,), shutdown_on_exit=False))
    instruments.record_http(0.1, {"http.request.method": "GET"}, None)
    data = reader.get_metrics_data()
    assert data is not None
    (scope,) = data.resource_metrics[0].scope_metrics
    found = {metric.name for metric in scope.metrics}
    assert {"memotel.writes.adopted", "http.client.request.duration"} <= found


def test_provider_set_after_the_first_client_is_found() -> None:
    done = run_python(
        """
        from memotel import runtime
        from memotel.outcomes import Adapter, Provider
        from memotel.telemetry.instruments import declare_client, install

        first = install()
        declare_client(runtime.current().counts, Provider.REKALL, Adapter.DIRECT)
        first.record_recall(0.1, ("rekall", "direct", "hit"), None)
        assert install() is first

        from opentelemetry import metrics, trace
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from opentelemetry.sdk.trace import TracerProvider

        reader = InMemoryMetricReader()
        metrics.set_meter_provider(MeterProvider([reader]))
        trace.set_tracer_provider(TracerProvider())
        first.record_recall(0.2, ("rekall", "direct", "hit"), None)
        (scope,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
        found = {m.name: m for m in scope.metrics}
        print(len(found["memotel.recalls"].data.data_points))
        print(found["memotel.recall.duration"].data.data_points[0].count)
        print(first.tracer.start_span("x").is_recording())
        """
    )
    assert done.stdout.split() == [str(len(Outcome)), "1", "True"]


def test_import_brings_neither_sdk_nor_prometheus() -> None:
    done = run_python(
        """
        import sys
        import memotel, memotel.telemetry, memotel.client
        print(sorted(m for m in sys.modules if m.startswith(("opentelemetry.sdk", "prometheus_client"))))
        """
    )
    assert done.stdout.strip() == "[]"
