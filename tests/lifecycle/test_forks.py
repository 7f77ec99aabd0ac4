"""Forked and spawned children work at once, send nothing of their parent's, and leave the parent unharmed."""

import os
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from memotel.devserver import DevServer, Fault

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

PRELUDE = """
import multiprocessing, os, sys, threading
from memotel import Adapter, MemoryClient, Outcome, Provider, Scope, Speaker, Turn, resolve

memory = MemoryClient(
    resolve(
        Provider.MEMORYSYNC,
        Adapter.DIRECT,
        url=sys.argv[1],
        api_key="k",
        recall_timeout=20.0,
        exit_drain_timeout=30.0,
    )
)

def say(text, session="s"):
    return memory.write(Turn(Scope("ada", session), Speaker.HUMAN, text, source="test"))

def recalls():
    return memory.recall(Scope("nobody"), "is anybody there at all?").outcome is Outcome.EMPTY

def books_are_mine(accepted):
    totals = memory.stats().totals
    return (totals.accepted, totals.unaccounted) == (accepted, 0)

def in_fork(work):
    pid = os.fork()
    if pid == 0:
        work()
        sys.exit(0)
    return pid

def ended_well(*pids):
    return all(os.waitpid(pid, 0)[1] == 0 for pid in pids)
"""


@pytest.fixture
def server() -> Iterator[DevServer]:
    """A service slow enough that the parent's writes are on their way when it forks."""
    with DevServer() as server:
        server.faults.set(Fault("delay", "writes", delay_s=0.1))
        yield server


def run(server: DevServer, folder: Path, body: str) -> Counter[str]:
    """Run a program that may fork or spawn; return how often each text arrived."""
    script = folder / "program.py"
    script.write_text(PRELUDE + textwrap.dedent(body))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), server.url],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found: Counter[str] = Counter()
    for item in server.items("ada", fate=None):
        found[item.text.removeprefix("human: ")] += item.deliveries
    return found


def test_fork_before_first_use(server: DevServer, tmp_path: Path) -> None:
    found = run(
        server,
        tmp_path,
        """
        def child():
            assert recalls()
            say("the child says this")
            assert books_are_mine(1)

        pids = [in_fork(child)]
        say("the parent says this")
        assert recalls() and ended_well(*pids) and books_are_mine(1)
        """,
    )
    assert found == {"the child says this": 1, "the parent says this": 1}


def test_fork_amid_deliveries(server: DevServer, tmp_path: Path) -> None:
    """Two children at once, and one of their own; the parent goes on before, between and after."""
    found = run(
        server,
        tmp_path,
        """
        def grandchild():
            assert recalls()
            say("the grandchild says this")
            assert books_are_mine(1)

        def child(name):
            assert recalls() and books_are_mine(0)
            say(f"the {name} says this")
            assert ended_well(in_fork(grandchild)) if name == "first" else True
            assert books_are_mine(1)

        for number in range(6):
            say(f"the parent says {number}", str(number))
        first = in_fork(lambda: child("first"))
        say("the parent says more", "more")
        second = in_fork(lambda: child("second"))
        assert recalls() and ended_well(first, second)
        say("the parent says the last thing", "last")
        report = memory.flush(30)
        assert report.pending == 0 and books_are_mine(8)
        """,
    )
    assert found == dict.fromkeys(
        [
            *(f"the parent says {number}" for number in range(6)),
            "the parent says more",
            "the parent says the last thing",
            "the first says this",
            "the second says this",
            "the grandchild says this",
        ],
        1,
    )


def test_child_that_ends_by_os_exit_delivers_when_it_closes(
    server: DevServer, tmp_path: Path
) -> None:
    found = run(
        server,
        tmp_path,
        """
        say("the parent says this")
        pid = os.fork()
        if pid == 0:
            say("the child says this")
            memory.close(30)
            os._exit(0)
        assert ended_well(pid) and books_are_mine(1)
        """,
    )
    assert found == {"the child says this": 1, "the parent says this": 1}


@pytest.mark.parametrize(
    ("context", "is_used_before"),
    [("fork", False), ("fork", True), ("spawn", True)],
    ids=["fork-before-first-use", "fork-after-use", "spawn"],
)
def test_multiprocessing(
    server: DevServer, tmp_path: Path, context: str, is_used_before: bool
) -> None:
    found = run(
        server,
        tmp_path,
        f"""
        def work(number):
            assert recalls() and books_are_mine(0)
            say(f"child {{number}} says this")

        if __name__ == "__main__":
            if {is_used_before}:
                say("the parent said this before")
            context = multiprocessing.get_context({context!r})
            children = [context.Process(target=work, args=(number,)) for number in range(2)]
            for child in children:
                child.start()
            for child in children:
                child.join()
            assert [child.exitcode for child in children] == [0, 0]
            say("the parent says this after")
            assert recalls() and books_are_mine(1 + {is_used_before})
        """,
    )
    expected = {"child 0 says this", "child 1 says this", "the parent says this after"}
    if is_used_before:
        expected.add("the parent said this before")
    assert found == dict.fromkeys(expected, 1)


def test_pool_of_workers_that_is_closed_and_joined(server: DevServer, tmp_path: Path) -> None:
    found = run(
        server,
        tmp_path,
        """
        def work(number):
            say(f"turn {number}", str(number))
            return os.getpid()

        say("the parent says this")
        with multiprocessing.get_context("fork").Pool(2) as pool:
            pids = pool.map(work, range(8))
            pool.close()
            pool.join()
        assert os.getpid() not in pids
        """,
    )
    assert found == dict.fromkeys([*(f"turn {n}" for n in range(8)), "the parent says this"], 1)
