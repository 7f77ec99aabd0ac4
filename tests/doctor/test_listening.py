"""Where telemetry goes, and what keeps it from getting there, told from the environment."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from memotel.doctor.examination import Surroundings
from memotel.doctor.findings import Level
from memotel.doctor.listening import check_wiring
from memotel.telemetry.wiring import Wiring, wiring

NOTHING = Wiring(
    is_disabled=False,
    has_sdk=True,
    has_prometheus=True,
    has_otlp=True,
    has_tracers=False,
    has_meters=False,
    prometheus_host="127.0.0.1",
    prometheus_port="",
    otlp_endpoint="",
    otlp_protocol="",
)
ENDPOINT = replace(NOTHING, prometheus_port="9464")
OTLP = replace(NOTHING, otlp_endpoint="http://me:pw@collector:4318")


@pytest.mark.parametrize(
    ("found", "is_container", "level", "says"),
    [
        (NOTHING, False, Level.WARNING, "nothing exports"),
        (replace(ENDPOINT, is_disabled=True), False, Level.WARNING, "OTEL_SDK_DISABLED"),
        (ENDPOINT, False, Level.OK, "127.0.0.1:9464"),
        (ENDPOINT, True, Level.WARNING, "loopback inside a container"),
        (replace(ENDPOINT, prometheus_host="0.0.0.0"), True, Level.OK, "0.0.0.0:9464"),
        (replace(ENDPOINT, has_prometheus=False), False, Level.PROBLEM, "prometheus_client"),
        (replace(ENDPOINT, has_sdk=False), False, Level.PROBLEM, "SDK is not installed"),
        (OTLP, False, Level.OK, "exported to http://collector:4318"),
        (replace(OTLP, has_otlp=False), False, Level.PROBLEM, "OTLP exporter"),
        (replace(OTLP, otlp_protocol="grpc"), False, Level.PROBLEM, "grpc"),
        (replace(NOTHING, has_tracers=True), False, Level.OK, "has OpenTelemetry providers"),
    ],
)
def test_wiring_is_told(found: Wiring, is_container: bool, level: Level, says: str) -> None:
    findings = list(check_wiring(found, is_container=is_container))

    (said,) = [each for each in findings if says in each.message]
    assert said.level is level
    assert bool(said.advice) is (level is not Level.OK)
    assert all("pw" not in each.message for each in findings)


def test_environment_is_read() -> None:
    found = wiring(
        {
            "OTEL_SDK_DISABLED": "TRUE",
            "OTEL_EXPORTER_PROMETHEUS_HOST": "::1",
            "OTEL_EXPORTER_PROMETHEUS_PORT": "9464",
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://collector:4318/v1/metrics",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        }
    )

    assert found.is_disabled
    assert (found.prometheus_host, found.prometheus_port) == ("::1", "9464")
    assert found.otlp_endpoint == "http://collector:4318/v1/metrics"
    assert found.otlp_protocol == "grpc"


def test_providers_of_the_process_are_seen() -> None:
    code = (
        "from memotel.telemetry.wiring import wiring\n"
        "before = wiring({})\n"
        "from memotel.telemetry import setup\n"
        "handle = setup(service_name='x', prometheus_port=0)\n"
        "after = wiring({})\n"
        "handle.shutdown()\n"
        "assert not before.has_tracers and not before.has_meters and not before.is_exporting\n"
        "assert after.has_tracers and after.has_meters and after.is_exporting\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr


def test_container_and_pod_are_seen(tmp_path: Path) -> None:
    absent, present = tmp_path / "absent", tmp_path / "present"
    present.touch()

    assert not Surroundings({}, absent).is_container
    assert Surroundings({}, present).is_container
    assert Surroundings({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, absent).is_container
