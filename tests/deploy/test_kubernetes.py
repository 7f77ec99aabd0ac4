"""The cluster's objects: the rules and boards in them are the committed ones, and the pod does what its comments say."""

import json
from pathlib import Path

import yaml
from board_series import RULES
from boards import board_files, load, object_at, objects

from memotel.config import WritePolicy

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
LARGEST_OBJECT = 1024 * 1024
"""What etcd takes."""


def read(name: str) -> list[dict[str, object]]:
    return objects(list(yaml.safe_load_all((FOLDER / name).read_text())))


def pod() -> dict[str, object]:
    spec = object_at(read("deployment.yaml")[0], "spec", "template", "spec")
    assert isinstance(spec, dict)
    return spec


def agent() -> dict[str, object]:
    return objects(pod()["containers"])[0]


def environment() -> dict[str, str]:
    return {str(each["name"]): str(each["value"]) for each in objects(agent()["env"])}


def test_kustomization_lists_every_object_and_nothing_else() -> None:
    listed = read("kustomization.yaml")[0]["resources"]
    assert isinstance(listed, list)
    there = {str(p.relative_to(FOLDER)) for p in FOLDER.rglob("*.yaml")} - {"kustomization.yaml"}
    assert set(listed) == there


def test_prometheus_rule_holds_the_committed_rules() -> None:
    rule = read("prometheusrule.yaml")[0]
    assert rule["kind"] == "PrometheusRule"
    assert rule["spec"] == yaml.safe_load(RULES.read_text())


def test_each_board_is_in_a_config_map_that_a_sidecar_finds() -> None:
    for path in board_files():
        found = read(f"dashboards/{path.stem}.yaml")[0]
        assert object_at(found, "metadata", "labels", "grafana_dashboard") == "1"
        assert json.loads(str(object_at(found, "data", path.name))) == load(path)
        assert (FOLDER / "dashboards" / f"{path.stem}.yaml").stat().st_size < LARGEST_OBJECT


def test_pod_monitor_finds_the_pods_and_their_port() -> None:
    monitor = read("podmonitor.yaml")[0]
    wanted = object_at(monitor, "spec", "selector", "matchLabels")
    assert wanted == object_at(read("deployment.yaml")[0], "spec", "template", "metadata", "labels")
    endpoint = objects(object_at(monitor, "spec", "podMetricsEndpoints"))[0]
    assert endpoint["port"] == objects(agent()["ports"])[0]["name"]
    assert object_at(monitor, "spec", "jobLabel") in wanted  # type: ignore[operator] # a mapping


def test_metrics_are_reachable_from_another_pod() -> None:
    assert environment()["OTEL_EXPORTER_PROMETHEUS_HOST"] == "0.0.0.0"
    assert objects(agent()["ports"])[0]["containerPort"] == 9464


def test_grace_period_is_longer_than_the_drain() -> None:
    seconds = pod()["terminationGracePeriodSeconds"]
    assert isinstance(seconds, int)
    assert seconds > WritePolicy().exit_drain_s + 5


def test_outbox_lies_on_the_volume_which_is_claimed() -> None:
    url = environment()["MEMOTEL_OUTBOX"]
    assert url.startswith("sqlite://")
    mounted = str(objects(agent()["volumeMounts"])[0]["mountPath"])
    assert Path(url.removeprefix("sqlite://")).is_relative_to(mounted)
    claim = read("deployment.yaml")[1]
    volume = objects(pod()["volumes"])[0]
    assert object_at(volume, "persistentVolumeClaim", "claimName") == object_at(
        claim, "metadata", "name"
    )
    assert objects(agent()["volumeMounts"])[0]["name"] == volume["name"]
    # The volume is one node's: a new pod on another would wait for the old one's to be let go.
    assert object_at(read("deployment.yaml")[0], "spec", "strategy", "type") == "Recreate"


def test_container_runs_without_privileges() -> None:
    assert object_at(pod(), "securityContext", "runAsNonRoot") is True
    assert object_at(agent(), "securityContext", "allowPrivilegeEscalation") is False
    assert object_at(agent(), "securityContext", "capabilities", "drop") == ["ALL"]
