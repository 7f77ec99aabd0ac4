"""The ends of a process that Python's hooks decide: without its private one, with SIGTERM ignored, asked for twice."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest
from unmeasured import unmeasured

from memotel import drain_on_sigterm
from memotel.devserver import DevServer, Fault

PRELUDE = """
import signal, sys, threading
{before}
import memotel
from memotel import Adapter, MemoryClient, Provider, Scope, Speaker, Turn, resolve

memory = MemoryClient(
    resolve(Provider.REKALL, Adapter.DIRECT, url=sys.argv[1], api_key="rk_1", exit_drain_timeout=30.0)
)
for number in range(20):
    memory.write(Turn(Scope("ada", str(number % 4)), Speaker.HUMAN, f"turn {{number}}"))
"""
HOOKS = {
    "gone": "del threading._register_atexit",
    "refused": """
def refuse(function, *args, **kwargs):
    raise RuntimeError("can't register atexit after shutdown")
import concurrent.futures.thread
threading._register_atexit = refuse
""",
}


@pytest.fixture
def server() -> Iterator[DevServer]:
    with DevServer() as server:
        server.faults.set(Fault("delay", "writes", delay_s=0.05))
        yield server


def program(server: DevServer, code: str, before: str = "") -> list[str]:
    script = PRELUDE.format(before=before) + textwrap.dedent(code)
    return [sys.executable, "-c", script, server.url]


@pytest.mark.parametrize("hook", HOOKS)
def test_exit_drains_also_where_python_has_no_hook_before_threads_end(
    server: DevServer, hook: str
) -> None:
    before = "import concurrent.futures.thread\n" + HOOKS[hook]
    done = subprocess.run(
        program(server, "", before),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=unmeasured(),
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert len(server.items()) == 20


def test_exit_waits_for_a_loop_that_is_stuck_no_longer_than_its_budget(server: DevServer) -> None:
    code = """
    from memotel import runtime
    memory.flush(30.0)
    runtime.current().loop.call_soon(threading.Event().wait)
    short = MemoryClient(
        resolve(Provider.REKALL, Adapter.DIRECT, url=sys.argv[1], api_key="rk_2", exit_drain_timeout=0.3)
    )
    short.write(Turn(Scope("ada", "s"), Speaker.HUMAN, "what nobody sends any more"))
    memory.close(0.0)
    """
    done = subprocess.run(
        program(server, code),
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
        env=unmeasured(),
    )

    assert done.returncode == 0
    assert "1 accepted writes could not be delivered" in done.stderr
    assert len(server.items()) == 20


def test_process_that_ignores_sigterm_goes_on_ignoring_it(server: DevServer) -> None:
    code = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    memotel.drain_on_sigterm()
    print("ready", flush=True)
    print("heard", sys.stdin.readline(), end="", flush=True)
    """
    with subprocess.Popen(
        program(server, code),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=unmeasured(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, signal.SIGTERM)
        process.stdin.write("me\n")
        process.stdin.close()
        assert process.stdout.read() == "heard me\n"
        assert process.wait(60) == 0

    assert len(server.items()) == 20


def test_asking_twice_for_a_drain_on_sigterm_changes_nothing() -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        drain_on_sigterm()
        once = signal.getsignal(signal.SIGTERM)
        drain_on_sigterm()
        assert signal.getsignal(signal.SIGTERM) is once
        assert once is not before
    finally:
        signal.signal(signal.SIGTERM, before)
