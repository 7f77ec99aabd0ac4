"""What becomes of accepted writes when the process ends, or forks: real processes against the development server."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memotel.devserver import DevServer, Fault

USER = "ada"
EXIT_S = 20.0
"""A process that is told to drain for a second or two must be gone by then, on a busy machine too."""

PRELUDE = """
import os, sys, threading
from memotel import Adapter, MemoryClient, Provider, Scope, Speaker, Turn, resolve

def client(**given):
    given.setdefault("api_key", "k")
    return MemoryClient(resolve(Provider.MEMORYSYNC, Adapter.DIRECT, url=sys.argv[1], **given))

def say(memory, text, session="s"):
    return memory.write(Turn(Scope("ada", session), Speaker.HUMAN, text, source="test"))
"""


@pytest.fixture
def server() -> Iterator[DevServer]:
    with DevServer() as server:
        yield server


def run(server: DevServer, body: str, url: str | None = None) -> "subprocess.CompletedProcess[str]":
    script = PRELUDE + textwrap.dedent(body)
    return subprocess.run(
        [sys.executable, "-c", script, url or server.url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )


def stored(server: DevServer) -> list[str]:
    return sorted(item.text for item in server.items(USER))


@pytest.mark.parametrize("scopes", [10, 1])
def test_exit_without_flush_stores_all(server: DevServer, scopes: int) -> None:
    server.faults.set(Fault("delay", "writes", delay_s=0.02))
    done = run(
        server,
        f"""
        memory = client(exit_drain_timeout=30.0)
        for number in range(100):
            say(memory, f"turn number {{number}}", str(number % {scopes}))
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(stored(server)) == 100
    assert all(item.deliveries == 1 for item in server.items(USER))


def test_exit_drains_to_a_host_name(server: DevServer) -> None:
    done = run(
        server,
        """
        memory = client(exit_drain_timeout=30.0)
        say(memory, "this is my first and last turn")
        """,
        f"http://localhost:{server.port}",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(stored(server)) == 1


def test_exit_with_a_hanging_service_is_bounded_and_says_what_was_dropped(
    server: DevServer,
) -> None:
    server.faults.set(Fault("hang"))
    began = time.monotonic()
    done = run(
        server,
        """
        memory = client(exit_drain_timeout=0.5)
        for number in range(5):
            say(memory, f"turn number {number}", str(number))
        """,
    )
    assert time.monotonic() - began < EXIT_S
    assert done.returncode == 0
    assert "5 accepted writes could not be delivered" in done.stderr
    assert "exit_drain_timeout" in done.stderr
    assert "Traceback" not in done.stderr


def test_exit_after_an_error_drains_too(server: DevServer) -> None:
    done = run(
        server,
        """
        memory = client(exit_drain_timeout=30.0)
        say(memory, "what I said before it broke")
        raise SystemExit(3)
        """,
    )
    assert (done.returncode, done.stderr) == (3, "")
    assert len(stored(server)) == 1


def test_exit_waits_for_the_applications_own_threads_and_drains_what_they_wrote(
    server: DevServer,
) -> None:
    done = run(
        server,
        """
        memory = client(exit_drain_timeout=30.0)
        say(memory, "said before main ended")

        def later():
            threading.main_thread().join()
            say(memory, "said after main ended")

        threading.Thread(target=later).start()
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(stored(server)) == 2


def test_a_closed_client_leaves_nothing_to_do_at_exit(server: DevServer) -> None:
    done = run(
        server,
        """
        with client() as memory:
            say(memory, "said and closed")
        assert memory.stats() is not None
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(stored(server)) == 1


def test_a_forked_child_works_at_once_and_sends_nothing_of_its_parents(server: DevServer) -> None:
    server.faults.set(Fault("delay", "writes", delay_s=0.2))
    done = run(
        server,
        """
        memory = client(exit_drain_timeout=30.0)
        for number in range(10):
            say(memory, f"the parent says {number}")
        child = os.fork()
        say(memory, "the child says it" if child == 0 else "the parent says more")
        if child:
            assert os.waitpid(child, 0)[1] == 0
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(stored(server)) == 12
    assert all(item.deliveries == 1 for item in server.items(USER))


def test_a_child_of_multiprocessing_drains_when_it_ends(server: DevServer) -> None:
    done = run(
        server,
        """
        import multiprocessing

        memory = client(exit_drain_timeout=30.0)
        say(memory, "the parent says it")

        def work():
            say(memory, "the child says it")

        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        child.join()
        assert child.exitcode == 0
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(stored(server)) == 2


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_child_of_multiprocessing_says_what_it_could_not_deliver(
    server: DevServer, method: str, tmp_path: Path
) -> None:
    server.faults.set(Fault("hang"))
    script = tmp_path / "script.py"
    body = """
        import multiprocessing

        def work():
            memory = client(exit_drain_timeout=0.5)
            for number in range(3):
                say(memory, f"the child says {number}", str(number))

        if __name__ == "__main__":
            child = multiprocessing.get_context(sys.argv[2]).Process(target=work)
            child.start()
            child.join()
            assert child.exitcode == 0
    """
    script.write_text(PRELUDE + textwrap.dedent(body))
    done = subprocess.run(
        [sys.executable, str(script), server.url, method],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("3 accepted writes could not be delivered") == 1
    assert "Traceback" not in done.stderr
