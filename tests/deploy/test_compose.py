"""The deploy files agree with each other, with the dashboard and with the defaults of the library."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from boards import load, object_at, objects
from prometheus_process import require_binary

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
METRICS_PORT = 9464


def read(name: str) -> dict[str, object]:
    document = yaml.safe_load((DEPLOY / name).read_text())
    assert isinstance(document, dict)
    return document


def service(name: str) -> dict[str, object]:
    found = object_at(read("compose.yaml"), "services", name)
    assert isinstance(found, dict)
    return found


SERVICES = ("demo", "prometheus", "alertmanager", "collector", "tempo", "grafana")
# Their images hold one program and nothing that could ask it for its health.
WITHOUT_HEALTHCHECK = ("collector", "tempo")


def mounts(name: str) -> list[tuple[str, str]]:
    """Return the (source, target) of each volume of a service."""
    volumes = service(name).get("volumes", [])
    assert isinstance(volumes, list)
    return [(str(v).split(":")[0], str(v).split(":")[1]) for v in volumes]


def test_compose_has_exactly_the_services_that_are_tested() -> None:
    services = object_at(read("compose.yaml"), "services")
    assert isinstance(services, dict)
    assert set(services) == set(SERVICES)


@pytest.mark.parametrize("name", SERVICES)
def test_service_publishes_on_loopback_only_and_says_when_it_is_well(name: str) -> None:
    ports = service(name)["ports"]
    assert isinstance(ports, list)
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port) for port in ports)
    health = service(name)["healthcheck"]
    assert isinstance(health, dict)
    assert health.get("disable", False) is (name in WITHOUT_HEALTHCHECK)
    assert ("test" in health) is (name not in WITHOUT_HEALTHCHECK)


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_runs_its_program_as_process_one(name: str) -> None:
    assert service(name)["init"] is True


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "demo"])
def test_images_have_exact_versions(name: str) -> None:
    assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+", str(service(name)["image"]))


def test_every_mounted_file_exists_and_every_volume_is_declared() -> None:
    declared = object_at(read("compose.yaml"), "volumes")
    assert isinstance(declared, dict)
    used: set[str] = set()
    for source, _ in (mount for name in SERVICES for mount in mounts(name)):
        if source.startswith("."):
            assert (DEPLOY / source).resolve().exists(), source
        else:
            used.add(source)
    assert used == set(declared)


def test_demo_image_is_built_from_files_that_exist() -> None:
    build = service("demo")["build"]
    assert isinstance(build, dict)
    context = (DEPLOY / str(build["context"])).resolve()
    assert context == ROOT
    dockerfile = (context / str(build["dockerfile"])).read_text()
    copied = [
        word for line in re.findall(r"^COPY (.+)$", dockerfile, re.M) for word in line.split()[:-1]
    ]
    assert copied
    assert all((context / source).exists() for source in copied)
    ignore = (context / f"{build['dockerfile']}.dockerignore").read_text().splitlines()
    assert {f"!{source}" for source in copied} <= set(ignore)


def test_prometheus_scrapes_the_demo_at_its_port() -> None:
    config = read("prometheus/prometheus.yml")
    targets = {
        str(job["job_name"]): [
            target
            for group in objects(job.get("static_configs", []))
            for target in object_at(group, "targets")  # type: ignore[attr-defined] # a list of strings
        ]
        for job in objects(config["scrape_configs"])
    }
    assert targets["memotel"] == [f"demo:{METRICS_PORT}"]
    assert service("demo")["ports"] == [f"127.0.0.1:{METRICS_PORT}:{METRICS_PORT}"]
    assert object_at(service("demo"), "environment", "OTEL_EXPORTER_PROMETHEUS_HOST") == "0.0.0.0"


def test_prometheus_reads_the_committed_rules_and_the_targets_folder() -> None:
    mounted = dict(mounts("prometheus"))
    rules = mounted["../dashboards/rules/memotel.rules.yml"]
    config = read("prometheus/prometheus.yml")
    assert config["rule_files"] == [f"{Path(rules).parent}/*.yml"]
    workers = next(job for job in objects(config["scrape_configs"]) if "file_sd_configs" in job)
    files = objects(workers["file_sd_configs"])[0]["files"]
    assert files == [f"{mounted['./prometheus/targets']}/*.json"]


def test_example_of_a_targets_file_is_one() -> None:
    entries = json.loads((DEPLOY / "prometheus" / "targets" / "example.json.sample").read_text())
    for entry in objects(entries):
        assert set(entry) == {"targets", "labels"}
        assert all(re.fullmatch(r"[\w.]+:\d+", str(target)) for target in entry["targets"])  # type: ignore[attr-defined] # a list of strings


def test_prometheus_tells_alertmanager() -> None:
    managers = objects(object_at(read("prometheus/prometheus.yml"), "alerting", "alertmanagers"))
    assert objects(managers[0]["static_configs"])[0]["targets"] == ["alertmanager:9093"]
    mounted = dict(mounts("alertmanager"))["./alertmanager/alertmanager.yml"]
    assert f"--config.file={mounted}" in str(service("alertmanager")["command"])


def test_prometheus_configuration_is_valid() -> None:
    done = subprocess.run(
        [require_binary("promtool"), "check", "config", DEPLOY / "prometheus" / "prometheus.yml"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESS" in done.stdout


def test_mounted_prometheus_configuration_is_the_one_it_is_started_with() -> None:
    target = dict(mounts("prometheus"))["./prometheus/prometheus.yml"]
    command = service("prometheus")["command"]
    assert isinstance(command, list)
    assert f"--config.file={target}" in command


def test_grafana_reads_the_dashboard_where_it_is_mounted() -> None:
    provider = objects(read("grafana/provisioning/dashboards/memotel.yaml")["providers"])[0]
    folder = str(object_at(provider, "options", "path"))
    mounted = dict(mounts("grafana"))
    board = mounted["../dashboards/memotel-overview.json"]
    assert Path(board).parent == Path(folder)
    home = object_at(service("grafana"), "environment", "GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH")
    assert home == board
    assert mounted["./grafana/provisioning"] == "/etc/grafana/provisioning"


def test_every_board_is_mounted() -> None:
    sources = {source for source, _ in mounts("grafana")}
    for board in (ROOT / "dashboards").glob("*.json"):
        assert f"../dashboards/{board.name}" in sources


def test_grafanas_data_sources_are_compose_s_services() -> None:
    found = objects(read("grafana/provisioning/datasources/prometheus.yaml")["datasources"])
    metrics, traces = found
    assert (metrics["type"], metrics["url"]) == ("prometheus", "http://prometheus:9090")
    interval = object_at(read("prometheus/prometheus.yml"), "global", "scrape_interval")
    assert object_at(metrics, "jsonData", "timeInterval") == interval
    assert metrics["isDefault"] is True
    assert (traces["type"], traces["url"]) == ("tempo", "http://tempo:3200")
    links = object_at(metrics, "jsonData", "exemplarTraceIdDestinations")
    assert links == [{"name": "trace_id", "datasourceUid": traces["uid"]}]


@pytest.mark.parametrize("name", ["datasources/prometheus.yaml", "dashboards/memotel.yaml"])
def test_provisioning_files_are_of_version_one(name: str) -> None:
    assert read(f"grafana/provisioning/{name}")["apiVersion"] == 1


def test_links_in_the_deploy_readme_name_a_board_that_exists() -> None:
    text = (DEPLOY / "README.md").read_text() + (DEPLOY / "compose.yaml").read_text()
    named = set(re.findall(r"/d/([\w-]+)", text))
    uids = {str(load(path)["uid"]) for path in (ROOT / "dashboards").glob("*.json")}
    assert named
    assert named <= uids
    assert json.loads((ROOT / "dashboards" / "memotel-overview.json").read_text())["uid"] in named
