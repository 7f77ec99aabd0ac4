"""A fork waits while another thread is inside SQLite: what the child inherits is at rest, and usable."""

import os
import subprocess
import sys

import pytest
from unmeasured import unmeasured

PROGRAM = """
import os, sys, threading
from memotel.writes.disk.forkgate import FileGate, opening

gate = FileGate()
lock = {"file": gate.lock, "opening": opening}[sys.argv[1]]
is_inside = threading.Event()

def at_work():
    with lock:
        is_inside.set()
        threading.Event().wait(0.3)  # SQLite at work, which nothing tells of

thread = threading.Thread(target=at_work)
thread.start()
is_inside.wait()
child = os.fork()
if child == 0:
    is_free = lock.acquire(timeout=5.0)
    os._exit(0 if is_free else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
thread.join()
assert lock.acquire(timeout=5.0), "the parent goes on too"
print(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("lock", ["file", "opening"])
def test_child_finds_no_lock_that_a_thread_of_its_parent_held(lock: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, lock],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=unmeasured(),
    )

    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr
