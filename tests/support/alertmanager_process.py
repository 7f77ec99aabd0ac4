"""A real Alertmanager for one test: on a free loopback port, without a cluster, ended by its process id."""

import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener

from prometheus_process import pause, require_binary

READY_S = 30.0
_LISTENING = re.compile(r'msg="Listening on" address=(127\.0\.0\.1:\d+)')
_open = build_opener(ProxyHandler({})).open  # loopback never goes through a proxy


@dataclass(frozen=True, slots=True)
class Alertmanager:
    """A running Alertmanager, at `url`."""

    url: str

    def post(self, alerts: Sequence[Mapping[str, str]]) -> None:
        """Raise alerts, each given by its labels."""
        body = json.dumps([{"labels": dict(labels)} for labels in alerts]).encode()
        headers = {"content-type": "application/json"}
        request = Request(f"{self.url}/api/v2/alerts", body, headers)  # noqa: S310 # our own address
        with _open(request, timeout=10) as answer:
            assert answer.status == 200

    def inhibited(self, expected: int) -> set[str]:
        """Return the `id` labels of the alerts that another one mutes, once `expected` alerts are known."""
        deadline = time.monotonic() + READY_S
        while len(found := self._known()) < expected:
            assert time.monotonic() < deadline, f"only {len(found)} of {expected} alerts arrived"
            pause()
        return {name for name, by in found.items() if by}

    def _known(self) -> dict[str, list[str]]:
        with _open(f"{self.url}/api/v2/alerts", timeout=10) as answer:
            found = json.load(answer)
        # Until its group is flushed an alert is unprocessed, and nothing has looked whether it is muted.
        return {
            each["labels"]["id"]: each["status"]["inhibitedBy"]
            for each in found
            if each["status"]["state"] != "unprocessed"
        }


@contextmanager
def running_alertmanager(folder: Path, config: Path) -> Iterator[Alertmanager]:
    """Run Alertmanager with `config` and its files in `folder`; ended when the block ends."""
    log = folder / "alertmanager.log"
    command = [
        require_binary("prometheus-alertmanager"),
        f"--config.file={config}",
        f"--storage.path={folder / 'data'}",
        "--web.listen-address=127.0.0.1:0",
        "--cluster.listen-address=",
    ]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
    try:
        yield Alertmanager(f"http://{_address(process, log)}")
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=10)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + READY_S
    while (found := _LISTENING.search(log.read_text())) is None:
        assert process.poll() is None, f"Alertmanager ended at once:\n{log.read_text()}"
        assert time.monotonic() < deadline, f"Alertmanager does not listen:\n{log.read_text()}"
        pause()
    return found[1]
