"""A real Prometheus evaluates the rules over every metric that memotel has: no error, no gap, no NaN, nothing on idle."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from boards import object_at, objects
from catalogue_exposition import serving_the_catalogue
from prometheus_process import PrometheusServer, running_prometheus
from rule_files import RULES, rules

# Two evaluations of every rule, on a busy machine.
EVALUATED_S = 60.0
OBJECTIVE = "memotel:slo_objective:ratio"
RECORDED = '{__name__=~"memotel:.+"}'


@contextmanager
def evaluating(folder: Path, *, is_idle: bool) -> Iterator[PrometheusServer]:
    """Run Prometheus with the rules over a process that shows every series there is."""
    with (
        serving_the_catalogue(is_idle=is_idle) as address,
        running_prometheus(folder, [address], rules=RULES) as server,
    ):
        yield server


def unhealthy(server: PrometheusServer) -> list[object]:
    """Return every rule that was not evaluated yet or failed: its name and the error."""
    groups = objects(object_at(server.api("rules"), "groups"))
    every = [rule for group in groups for rule in objects(group["rules"])]
    assert len(every) == len(rules())
    return [(rule["name"], rule.get("lastError")) for rule in every if rule["health"] != "ok"]


def test_every_recording_rule_has_series_and_no_rule_fails(tmp_path: Path) -> None:
    wanted = {(r.name, r.labels.get("slo")) for r in rules() if not r.is_alert}

    def recorded(server: PrometheusServer) -> bool:
        found = server.query(RECORDED)
        assert not any(math.isnan(sample.value) for sample in found)
        return {(s.labels["__name__"], s.labels.get("slo")) for s in found} == wanted

    with evaluating(tmp_path, is_idle=False) as server:
        server.wait_until(recorded, EVALUATED_S)
        server.wait_until(lambda s: unhealthy(s) == [], EVALUATED_S)


def test_idle_processes_record_nothing_but_the_objectives(tmp_path: Path) -> None:
    with evaluating(tmp_path, is_idle=True) as server:
        # Two scrapes are in, so a rate of nothing would be there, as NaN or as 0.
        server.wait_for_series("rate(memotel_recalls_total[20s] offset 2s)")
        server.wait_until(lambda s: unhealthy(s) == [], EVALUATED_S)
        found = server.query(RECORDED)
    assert {sample.labels["__name__"] for sample in found} == {OBJECTIVE}
    assert len(found) == 3
