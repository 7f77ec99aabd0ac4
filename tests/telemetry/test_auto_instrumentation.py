"""An application started by `opentelemetry-instrument`, with no line about telemetry in it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sockets import refused_port

from memotel.devserver import DevServer

APPLICATION = """
import os, sys, urllib.request
from memotel import MemoryClient, Provider, Scope, resolve
from memotel.outcomes import Adapter

memory = MemoryClient(resolve(Provider.REKALL, Adapter.DIRECT, url=sys.argv[1], api_key="rk_auto", recall_timeout=20.0))
outcome = memory.recall(Scope("ada"), "which tea do I like best?").outcome
port = os.environ["OTEL_EXPORTER_PROMETHEUS_PORT"]
accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers=accept)) as answer:
    text = answer.read().decode()
print(outcome)
print(text)
memory.close()
"""


@pytest.fixture
def said(tmp_path: Path, memory_server: DevServer) -> tuple[str, str]:
    """Run the application; return the outcome of its recall, and what it served to a scraper."""
    script = tmp_path / "application.py"
    script.write_text(APPLICATION)
    environment = {
        **os.environ,
        "OTEL_METRICS_EXPORTER": "memotel_prometheus",
        "OTEL_TRACES_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_SERVICE_NAME": "auto-bot",
        "OTEL_EXPORTER_PROMETHEUS_PORT": str(refused_port()),
    }
    instrument = Path(sys.executable).with_name("opentelemetry-instrument")
    done = subprocess.run(
        [str(instrument), sys.executable, str(script), memory_server.url],
        capture_output=True,
        text=True,
        timeout=90,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcome, _, text = done.stdout.partition("\n")
    return outcome, text


def test_instrumented_application_serves_memotels_metrics_with_exemplars(
    said: tuple[str, str],
) -> None:
    outcome, text = said
    assert outcome == "empty"
    counted = [line for line in text.splitlines() if line.startswith("memotel_recalls_total{")]
    assert [line for line in counted if 'outcome="empty"' in line and line.endswith(" 1.0")]
    assert 'service_name="auto-bot"' in text
    buckets = [
        line
        for line in text.splitlines()
        if line.startswith("memotel_recall_duration_seconds_bucket")
    ]
    assert any("# {" in line and "trace_id=" in line for line in buckets)


def test_one_http_duration_is_recorded_though_httpx_is_instrumented_too(
    said: tuple[str, str],
) -> None:
    plain = said[1].replace("# EOF", "").splitlines()
    text = "\n".join(line.partition(" # {")[0] for line in plain) + "\n"
    counts = [
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "http_client_request_duration_seconds_count"
    ]
    assert counts == [1.0], json.dumps(counts)
