"""A real Prometheus scrapes our endpoint: up, series, and exemplars that name a trace."""

from collections.abc import Callable
from time import time

from prometheus_client import CollectorRegistry
from prometheus_process import PrometheusServer
from telemetry_rig import Rig, hit, make_call

from memotel.telemetry.endpoint import Address, Endpoint
from memotel.telemetry.exposition import PrometheusReader


def exemplars(server: PrometheusServer) -> set[str]:
    """Return the trace ids that Prometheus has for recalls."""
    now = time()
    found = server.api(
        "query_exemplars",
        query="memotel_recall_duration_seconds_bucket",
        start=str(now - 600),
        end=str(now + 60),
    )
    assert isinstance(found, list)
    return {e["labels"]["trace_id"] for series in found for e in series["exemplars"]}


def test_exemplars_arrive_through_a_real_scrape(
    prometheus_server: Callable[..., PrometheusServer],
) -> None:
    registry = CollectorRegistry()
    rig = Rig(readers=(PrometheusReader(registry),))
    endpoint = Endpoint(Address(port=0), registry)
    try:
        server = prometheus_server([f"127.0.0.1:{endpoint.port}"])

        def has_exemplars(asked: PrometheusServer) -> bool:
            rig.run(make_call(), hit)
            return bool(exemplars(asked))

        server.wait_until(has_exemplars, 30)
        (up,) = server.wait_for_series('up{job="memotel"}')
        assert up.value == 1
        (recalls,) = server.wait_for_series("memotel_recalls_total")
        assert recalls.labels["outcome"] == "hit"
        traces = {format(s.context.trace_id, "032x") for s in rig.spans if s.context}
        assert exemplars(server) <= traces
    finally:
        endpoint.close()
