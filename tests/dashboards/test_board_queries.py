"""Every query of every board, answered by a real Prometheus: series exist, and none is NaN."""

import math
from collections.abc import Callable

from board_answers import unanswered
from boards import board_files, load, targets
from catalogue_exposition import serving_the_catalogue
from prometheus_process import PrometheusServer

from memotel.telemetry.names import COUNTERS

Start = Callable[..., PrometheusServer]


def test_every_panel_has_series_on_a_process_that_does_everything(prometheus_server: Start) -> None:
    with serving_the_catalogue() as address:
        server = prometheus_server([address])
        # A rate needs two scrapes.
        series = next(iter(COUNTERS.values())).prometheus_name
        server.wait_for_series(f"rate({series}[20s]) > 0")
        for path in board_files():
            assert unanswered(server, targets(load(path))) == []


def test_idle_process_shows_no_nan(prometheus_server: Start) -> None:
    with serving_the_catalogue(is_idle=True) as address:
        server = prometheus_server([address])
        series = next(iter(COUNTERS.values())).prometheus_name
        server.wait_for_series(f"rate({series}[20s])")
        for path in board_files():
            values = [s.value for t in targets(load(path)) for s in server.query(t.interpolated)]
            assert values
            assert not any(math.isnan(value) for value in values)
