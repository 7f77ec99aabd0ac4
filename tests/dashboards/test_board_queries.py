"""Every query of every board, answered by a real Prometheus with the rules: series exist, and none is NaN."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from board_answers import unanswered
from board_series import RULES
from boards import Target, board_files, load, targets
from catalogue_exposition import serving_the_catalogue
from prometheus_process import PrometheusServer, running_prometheus

# The slowest query needs a rule on a rate on two scrapes.
ANSWERS_S = 60.0


def every_target() -> list[Target]:
    return [target for path in board_files() for target in targets(load(path))]


@contextmanager
def prometheus_on_the_catalogue(folder: Path, *, is_idle: bool) -> Iterator[PrometheusServer]:
    with (
        serving_the_catalogue(is_idle=is_idle) as address,
        running_prometheus(folder, [address], rules=RULES) as server,
    ):
        yield server


def test_every_panel_has_series_on_a_process_that_does_everything(tmp_path: Path) -> None:
    found = every_target()
    with prometheus_on_the_catalogue(tmp_path, is_idle=False) as server:
        server.wait_until(lambda s: unanswered(s, found) == [], ANSWERS_S)


def test_idle_process_shows_no_nan(tmp_path: Path) -> None:
    rates = [target for target in every_target() if "rate(" in target.expression]
    with prometheus_on_the_catalogue(tmp_path, is_idle=True) as server:
        server.wait_for_series("memotel:slo_objective:ratio")
        # The oldest rate that a board asks for is there: all others are, too.
        server.wait_for_series("rate(memotel_recalls_total[20s] offset 2s)")
        assert any(server.query(target.interpolated) for target in rates)
        values = [s.value for t in every_target() for s in server.query(t.interpolated)]
        assert not any(math.isnan(value) for value in values)
