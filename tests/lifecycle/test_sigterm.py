"""SIGTERM: an ordinary process, one with a handler of its own, and PID 1 of a container."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from unmeasured import unmeasured

from memotel import ConfigurationError, drain_on_sigterm
from memotel.devserver import DevServer, Fault, FaultKind

PROGRAM = """
import os, signal, sys, time
import memotel
from memotel import Adapter, MemoryClient, Provider, Scope, Speaker, Turn, resolve
{before}
if {drains}:
    memotel.drain_on_sigterm()
client = MemoryClient(resolve(Provider.MEMORYSYNC, Adapter.DIRECT, url=sys.argv[1], api_key="ms_1"))
for n in range(20):
    client.write(Turn(Scope("ada", f"s{{n % 4}}"), Speaker.HUMAN, f"My number {{n}} is a number to keep.", source="test"))
print("ready", os.getpid(), flush=True)
time.sleep(60)
"""
HANDLER = (
    "signal.signal(signal.SIGTERM, lambda *_: (print('own handler', flush=True), sys.exit(7)))"
)


@pytest.fixture
def server() -> Iterator[DevServer]:
    with DevServer() as server:
        server.faults.set(Fault(FaultKind.DELAY, "writes", delay_s=0.05))
        yield server


def run(
    server: DevServer, *, drains: bool, before: str = "", as_pid_1: bool = False
) -> tuple[int, str]:
    """Start the program, send SIGTERM when it has accepted its writes, return its status and output."""
    command = [sys.executable, "-c", PROGRAM.format(drains=drains, before=before), server.url]
    if as_pid_1:
        command = ["unshare", "--pid", "--fork", "--kill-child", *command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=unmeasured()) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready")
        target = _child_of(process.pid) if as_pid_1 else process.pid
        os.kill(target, signal.SIGTERM)
        output, _ = process.communicate(timeout=40)
        return process.returncode, output


def _child_of(pid: int) -> int:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:  # noqa: PTH123 # a kernel file
        return int(children.read().split()[0])


def kept(server: DevServer) -> int:
    return len(server.items("ada"))


def test_ordinary_process_delivers_its_writes_and_ends(server: DevServer) -> None:
    status, _ = run(server, drains=True)

    assert status == 128 + signal.SIGTERM
    assert kept(server) == 20


def test_process_without_it_dies_of_the_signal(server: DevServer) -> None:
    status, _ = run(server, drains=False)

    assert status == -signal.SIGTERM
    assert kept(server) < 20


def test_handler_that_was_there_before_still_runs_after_the_drain(server: DevServer) -> None:
    status, output = run(server, drains=True, before=HANDLER)

    assert (status, "own handler" in output) == (7, True)
    assert kept(server) == 20


@pytest.mark.skipif(sys.platform != "linux", reason="PID namespaces are Linux's")
def test_pid_1_delivers_its_writes_and_ends(server: DevServer) -> None:
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("needs unshare, as root")

    status, _ = run(server, drains=True, as_pid_1=True)

    assert status == 128 + signal.SIGTERM
    assert kept(server) == 20


def test_it_can_only_be_called_from_the_main_thread() -> None:
    errors: list[Exception] = []

    def call() -> None:
        try:
            drain_on_sigterm()
        except ConfigurationError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()

    assert "main thread" in str(errors[0])
