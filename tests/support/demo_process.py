"""`memotel demo --hold` as a process of its own, ended as a person ends it: with an interrupt."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_process import pause

START_S = 60.0
END_S = 30.0
_METRICS = re.compile(r"metrics on http://([\w.]+:\d+)/metrics")
_COMMAND = "from memotel.cli import main; raise SystemExit(main())"


@contextmanager
def running_demo(folder: Path, *pace: str) -> Iterator[str]:
    """Run the demo over and over until the block ends; yields "host:port" of its metrics.

    `pace` is `--fast`, or nothing for the programme of a minute.
    """
    log = folder / "demo.log"
    # A pipe has no width: without one of its own, the line with the address would be broken in two.
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    command = [sys.executable, "-c", _COMMAND, "demo", "--hold", "--metrics-port", "0", *pace]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, env=environment, cwd=folder
        )
    try:
        yield _address(process, log)
        assert process.poll() is None, f"the demo ended by itself:\n{log.read_text()[-2000:]}"
    finally:
        _interrupt(process)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + START_S
    while (found := _METRICS.search(log.read_text())) is None:
        assert process.poll() is None, f"the demo ended at once:\n{log.read_text()}"
        assert time.monotonic() < deadline, f"the demo names no address:\n{log.read_text()}"
        pause()
    return found[1]


def _interrupt(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=END_S)
        raise
    assert process.returncode == 0, f"the demo ended with {process.returncode}"
