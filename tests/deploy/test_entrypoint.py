"""The container's entry point as process 1 of a PID namespace: SIGTERM ends it, as a container runtime ends it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from prometheus_process import pause
from unmeasured import unmeasured

ENTRYPOINT = Path(__file__).parents[2] / "deploy" / "entrypoint.py"
PATIENCE_S = 60.0
KILLED_BY_TERM = 128 + signal.SIGTERM
COMMAND = [sys.executable, str(ENTRYPOINT), "demo", "--fast", "--hold", "--metrics-port", "0"]
AS_PID_1 = ["unshare", "--pid", "--fork"]


def can_unshare() -> bool:
    if shutil.which("unshare") is None:
        return False
    done = subprocess.run([*AS_PID_1, "true"], capture_output=True, timeout=10, check=False)
    return done.returncode == 0


def child_of(pid: int) -> int:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(found[0])


@pytest.mark.skipif(not can_unshare(), reason="needs unshare and the right to make a PID namespace")
def test_process_one_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    log = tmp_path / "log"
    environment = {**unmeasured(), "COLUMNS": "200", "NO_COLOR": "1"}
    with log.open("wb") as stream:
        outer = subprocess.Popen(
            [*AS_PID_1, *COMMAND], stdout=stream, stderr=subprocess.STDOUT, env=environment
        )
    try:
        deadline = time.monotonic() + PATIENCE_S
        while "You told me" not in log.read_text():
            assert outer.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            pause()
        os.kill(child_of(outer.pid), signal.SIGTERM)
        assert outer.wait(timeout=PATIENCE_S) == KILLED_BY_TERM, log.read_text()
    finally:
        if outer.poll() is None:
            os.kill(child_of(outer.pid), signal.SIGKILL)
            outer.wait(timeout=PATIENCE_S)
