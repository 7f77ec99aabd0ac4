"""A forked child asks its own resolver and builds its own TLS contexts; it never waits for its parent's threads."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, threading, time
from memotel.config import NetworkPolicy
from memotel.http import resolver, tls

lock_holder = resolver.shared_resolver()
inherited_shelf = tls._shared.shelf
lock_holder._lock.acquire()
inherited_shelf._lock.acquire()
child = os.fork()
if child == 0:
    assert resolver.shared_resolver() is not lock_holder
    flight = resolver.shared_resolver().flight(("localhost", 80))
    assert flight.result(20)
    assert tls.context_flight(NetworkPolicy(verify=False), {}).result(20)
    os._exit(0)
_, status = os.waitpid(child, 0)
assert resolver.shared_resolver() is lock_holder
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_starts_with_a_fresh_resolver_and_fresh_contexts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("0", "")
