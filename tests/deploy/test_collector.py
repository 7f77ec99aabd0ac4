"""The Collector's and Tempo's configuration agree with each other and with compose. Neither program was run on them."""

from pathlib import Path

import yaml
from boards import object_at

DEPLOY = Path(__file__).parents[2] / "deploy"
COLLECTOR = yaml.safe_load((DEPLOY / "collector" / "config.yaml").read_text())
TEMPO = yaml.safe_load((DEPLOY / "tempo" / "tempo.yaml").read_text())
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
PARTS = ("receivers", "processors", "exporters")


def used(part: str) -> set[str]:
    return {name for pipe in COLLECTOR["service"]["pipelines"].values() for name in pipe[part]}


def test_every_member_of_a_pipeline_is_defined_and_every_definition_is_used() -> None:
    for part in PARTS:
        assert used(part) == set(COLLECTOR[part])
    assert set(COLLECTOR["service"]["extensions"]) == set(COLLECTOR["extensions"])


def test_memory_limiter_comes_first_and_batch_last() -> None:
    for pipe in COLLECTOR["service"]["pipelines"].values():
        assert (pipe["processors"][0], pipe["processors"][-1]) == ("memory_limiter", "batch")


def test_traces_reach_tempo_where_it_listens() -> None:
    host, port = COLLECTOR["exporters"]["otlp/tempo"]["endpoint"].split(":")
    assert host in COMPOSE["services"]
    listens = object_at(TEMPO, "distributor", "receivers", "otlp", "protocols", "grpc", "endpoint")
    assert listens == f"0.0.0.0:{port}"


def test_demo_sends_its_traces_to_the_collector_and_keeps_its_metrics_for_the_scrape() -> None:
    environment = COMPOSE["services"]["demo"]["environment"]
    listens = object_at(COLLECTOR, "receivers", "otlp", "protocols", "http", "endpoint")
    port = str(listens).rpartition(":")[2]
    assert environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] == f"http://collector:{port}/v1/traces"
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" not in environment


def test_grafana_asks_tempo_where_it_listens() -> None:
    sources = yaml.safe_load(
        (DEPLOY / "grafana" / "provisioning" / "datasources" / "prometheus.yaml").read_text()
    )["datasources"]
    port = TEMPO["server"]["http_listen_port"]
    assert f"http://tempo:{port}" in {source["url"] for source in sources}


def test_configurations_are_mounted_where_the_programs_are_told_to_look() -> None:
    for name, source in (("collector", "./collector/config.yaml"), ("tempo", "./tempo/tempo.yaml")):
        service = COMPOSE["services"][name]
        mounted = dict(str(volume).split(":")[:2] for volume in service["volumes"])
        assert mounted[source] in service["command"][0]
