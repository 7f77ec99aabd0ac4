"""Waiting for what another process does, where nothing tells."""

import threading
import time
from collections.abc import Callable

INTERVAL_S = 0.02


def eventually(claim: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Ask until it is so; fail where it is not within `timeout_s`, a bound far beyond what it takes."""
    give_up_at, pause = time.monotonic() + timeout_s, threading.Event()
    while not claim():
        assert time.monotonic() < give_up_at, "it never came true"
        pause.wait(INTERVAL_S)
