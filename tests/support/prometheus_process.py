"""A real Prometheus for one test: on a free loopback port, in a folder of its own, ended by its process id."""

import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import pytest

READY_S = 30.0
POLL_S = 0.05
_LISTENING = re.compile(r'msg="Listening on" address=(127\.0\.0\.1:\d+)')
_open = build_opener(ProxyHandler({})).open  # loopback never goes through a proxy


@dataclass(frozen=True, slots=True)
class Sample:
    """One series of an instant query: its labels, and the value as Prometheus sent it ("NaN" stays so)."""

    labels: dict[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class PrometheusServer:
    """A running Prometheus, at `url`."""

    url: str

    def api(self, path: str, **parameters: str) -> object:
        """Return `data` of one API call, such as `api("targets")`; fails on an error answer."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        with _open(f"{self.url}/api/v1/{path}{query}", timeout=10) as response:
            answer = json.load(response)
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression: str) -> list[Sample]:
        """Return the series of an instant query now."""
        data = self.api("query", query=expression)
        assert isinstance(data, dict)
        assert data["resultType"] == "vector", data["resultType"]
        return [Sample(r["metric"], float(r["value"][1])) for r in data["result"]]

    def wait_until(self, claim: Callable[["PrometheusServer"], bool], timeout_s: float) -> None:
        """Return when `claim` holds; fails after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while not claim(self):
            assert time.monotonic() < deadline, f"not true of Prometheus within {timeout_s} s"
            pause()

    def wait_for_series(self, expression: str, timeout_s: float = READY_S) -> list[Sample]:
        """Return the series of `expression` as soon as there are any; fails after `timeout_s`."""
        self.wait_until(lambda server: bool(server.query(expression)), timeout_s)
        return self.query(expression)


def pause() -> None:
    """Wait a moment before asking a real process again: it has no event that a test could wait for."""
    threading.Event().wait(POLL_S)


def require_binary(name: str) -> str:
    """Return the path of `name`; where it is missing, skip the test on a laptop and fail it in CI."""
    found = shutil.which(name)
    if found is None and os.environ.get("CI"):
        pytest.fail(f"{name} is not installed, and CI needs it", pytrace=False)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def scrape_config(
    targets: Sequence[str], job: str, scrape_interval: str, rules: Sequence[Path] = ()
) -> str:
    """Return a prometheus.yml (JSON is YAML) that scrapes `targets`, each "host:port", and evaluates `rules`."""
    return json.dumps(
        {
            "global": {"scrape_interval": scrape_interval, "scrape_timeout": scrape_interval},
            "rule_files": [str(path) for path in rules],
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": list(targets)}]},
            ],
        }
    )


@contextmanager
def running_prometheus(
    folder: Path,
    targets: Sequence[str],
    *,
    job: str = "memotel",
    scrape_interval: str = "1s",
    rules: Path | None = None,
) -> Iterator[PrometheusServer]:
    """Run Prometheus over `targets` with its files in `folder`; ended when the block ends.

    `rules` are evaluated at every scrape interval, whatever interval their groups have.
    """
    folder.mkdir(parents=True, exist_ok=True)
    hurried = [] if rules is None else [_hurried(rules, folder, scrape_interval)]
    with serving(folder, scrape_config(targets, job, scrape_interval, hurried)) as server:
        yield server


@contextmanager
def serving(folder: Path, configuration: str) -> Iterator[PrometheusServer]:
    """Run Prometheus with that prometheus.yml and its files in `folder`; ended when the block ends."""
    binary = require_binary("prometheus")
    config, log = folder / "prometheus.yml", folder / "prometheus.log"
    config.write_text(configuration)
    command = [
        binary,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--web.listen-address=127.0.0.1:0",
        "--enable-feature=exemplar-storage",
    ]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
    try:
        server = PrometheusServer(f"http://{_address(process, log)}")
        server.wait_until(_is_ready, READY_S)
        yield server
    finally:
        _end(process)


def _hurried(rules: Path, folder: Path, interval: str) -> Path:
    copy = folder / "rules.yml"
    copy.write_text(re.sub(r"interval: \w+", f"interval: {interval}", rules.read_text()))
    return copy


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + READY_S
    while (found := _LISTENING.search(log.read_text())) is None:
        assert process.poll() is None, f"Prometheus ended at once:\n{log.read_text()}"
        assert time.monotonic() < deadline, f"Prometheus does not listen:\n{log.read_text()}"
        pause()
    return found[1]


def _is_ready(server: PrometheusServer) -> bool:
    try:
        with _open(f"{server.url}/-/ready", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=10)
