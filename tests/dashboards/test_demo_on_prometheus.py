"""The demo, scraped by a real Prometheus: every panel has series, none NaN; exemplars arrive; the format is clean."""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest
from board_answers import unanswered
from board_series import RULES
from boards import board_files, load, targets
from demo_process import running_demo
from prometheus_process import PrometheusServer, require_binary, running_prometheus

from memotel.counts import Count, Gauge
from memotel.outcomes import Provider
from memotel.telemetry.names import COUNTERS, GAUGES, RECALL_DURATION, Instrument

# A fast programme takes 8 s; two of them and a rate's window, on a busy machine.
PROGRAMME_S = 90.0
Claim = Callable[[PrometheusServer], bool]


@dataclass(frozen=True, slots=True)
class Observed:
    """The demo's metrics address, and the Prometheus that scrapes it."""

    address: str
    server: PrometheusServer


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    require_binary("prometheus")
    folder = tmp_path_factory.mktemp("demo")
    with (
        running_demo(folder, "--fast") as address,
        running_prometheus(folder / "p", [address], rules=RULES) as server,
    ):
        yield Observed(address, server)


def moving(instrument: Instrument, provider: Provider) -> Claim:
    """Return the claim that a counter of `provider` grows."""
    series = f'sum(rate({instrument.prometheus_name}{{provider="{provider}"}}[20s])) > 0'
    return lambda server: bool(server.query(series))


def test_demo_is_up_and_series_of_both_providers_move(demo: Observed) -> None:
    demo.server.wait_for_series("up == 1")
    for provider in Provider:
        demo.server.wait_until(moving(COUNTERS[Count.RECALLS], provider), PROGRAMME_S)
        demo.server.wait_until(moving(COUNTERS[Count.WRITES], provider), PROGRAMME_S)


@pytest.mark.parametrize("path", board_files(), ids=lambda path: path.stem)
def test_every_panel_has_series_and_none_is_nan(demo: Observed, path: Path) -> None:
    found = targets(load(path))
    demo.server.wait_until(lambda server: unanswered(server, found) == [], PROGRAMME_S)


def test_exemplars_arrive_through_the_scrape(demo: Observed) -> None:
    name = f"{RECALL_DURATION.prometheus_name}_bucket"

    def exemplars(server: PrometheusServer) -> list[dict[str, object]]:
        data = server.api("query_exemplars", query=name, start="0", end="4102444800")
        assert isinstance(data, list)
        return [exemplar for series in data for exemplar in series["exemplars"]]

    demo.server.wait_until(lambda server: bool(exemplars(server)), PROGRAMME_S)
    labels = exemplars(demo.server)[0]["labels"]
    assert isinstance(labels, dict)
    assert set(labels) >= {"trace_id", "span_id"}


def test_books_balance_while_the_demo_runs(demo: Observed) -> None:
    name = GAUGES[Gauge.UNACCOUNTED].prometheus_name
    found = demo.server.wait_for_series(name)
    assert {sample.labels["provider"] for sample in found} == set(Provider)
    assert [sample.value for sample in demo.server.query(f"max_over_time({name}[1m]) != 0")] == []
    assert [sample.value for sample in demo.server.query(f"min_over_time({name}[1m]) != 0")] == []


def test_promtool_finds_nothing_wrong_with_the_text_format(demo: Observed) -> None:
    promtool = require_binary("promtool")
    fetch = build_opener(ProxyHandler({})).open
    with fetch(f"http://{demo.address}/metrics", timeout=10) as response:
        text = response.read()
    done = subprocess.run(
        [promtool, "check", "metrics"], input=text, capture_output=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert RECALL_DURATION.prometheus_name.encode() in text
