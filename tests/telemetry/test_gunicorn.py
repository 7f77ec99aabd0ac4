"""docs/several-processes.md as it stands: gunicorn with three preloaded workers, one scrape target each, every count right."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml
from polling import eventually
from prometheus_client.parser import text_string_to_metric_families

from memotel.devserver import DevServer

PAGE = Path(__file__).parents[2] / "docs" / "several-processes.md"
REQUESTS = 60
QUESTION = "which tea do I like best?"


def blocks() -> dict[str, str]:
    """Return the page's files by the name in their first line."""
    found = re.findall(r"```(?:python|yaml)\n# (\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return dict(found)


@contextmanager
def gunicorn(folder: Path, memory_url: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the page's files under gunicorn, on a Unix socket in `folder`."""
    for name in ("app.py", "gunicorn.conf.py"):
        (folder / name).write_text(blocks()[name])
    (folder / "targets").mkdir()
    environment = {
        **os.environ,
        "BIND": f"unix:{folder / 'web.sock'}",
        "TARGETS": str(folder / "targets"),
        "REKALL_API_URL": memory_url,
        "REKALL_API_KEY": "rk_gunicorn",
        "MEMOTEL_RECALL_TIMEOUT": "20",
    }
    command = [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py", "app:app"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(timeout=30)


def targets(folder: Path) -> dict[int, str]:
    """Return the scrape target of each worker, by process id."""
    return {
        int(path.stem): json.loads(path.read_text())[0]["targets"][0]
        for path in (folder / "targets").glob("*.json")
    }


def scrape(target: str) -> dict[str, float]:
    """Return a worker's recalls: how many were counted, how many durations were recorded; and its identity."""
    with urllib.request.urlopen(f"http://{target}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in (
                "memotel_recalls_total",
                "memotel_recall_duration_seconds_count",
                "memotel_loop_blocked_total",
            ):
                found[sample.name] += sample.value
            if sample.name == "target_info":
                found[sample.labels["service_instance_id"]] += 1
    return dict(found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="gunicorn needs fork")
def test_three_preloaded_workers_count_exactly_what_each_answered(
    tmp_path: Path, memory_server: DevServer
) -> None:
    with gunicorn(tmp_path, memory_server.url) as master:
        eventually(lambda: len(targets(tmp_path)) == 3 and (tmp_path / "web.sock").exists())
        transport = httpx.HTTPTransport(uds=str(tmp_path / "web.sock"), retries=3)
        answered: Counter[int] = Counter()
        with httpx.Client(transport=transport, timeout=30) as web:
            for _ in range(REQUESTS):
                outcome, pid = web.get("http://web/", params={"q": QUESTION}).text.split()
                assert outcome == "empty"
                answered[int(pid)] += 1
        workers = targets(tmp_path)
        assert set(answered) <= set(workers)
        seen = {pid: scrape(target) for pid, target in workers.items()}
        counted = {pid: found["memotel_recalls_total"] for pid, found in seen.items()}
        timed = {
            pid: found.get("memotel_recall_duration_seconds_count", 0)
            for pid, found in seen.items()
        }
        assert counted == timed == {pid: answered[pid] for pid in workers}
        assert sum(counted.values()) == REQUESTS
        identities = {name for found in seen.values() for name in found if "-" in name}
        assert len(identities) == 3

        victim = next(iter(workers))
        os.kill(victim, signal.SIGKILL)
        eventually(lambda: victim not in targets(tmp_path) and len(targets(tmp_path)) == 3)
        fresh = (set(targets(tmp_path)) - set(workers)).pop()
        assert scrape(targets(tmp_path)[fresh])["memotel_recalls_total"] == 0

        master.terminate()
        assert master.wait(timeout=30) == 0
        assert targets(tmp_path) == {}
    said = (tmp_path / "log").read_text()
    assert "Traceback" not in said, said


def test_prometheus_reads_the_targets_files() -> None:
    config = yaml.safe_load(blocks()["prometheus.yml"])
    (job,) = config["scrape_configs"]
    assert job["file_sd_configs"][0]["files"] == ["/run/support-bot/*.json"]
    assert 'Path(os.environ.get("TARGETS", "/run/support-bot"))' in blocks()["gunicorn.conf.py"]
