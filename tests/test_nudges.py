"""Nudges: run in order, a moment later, from any thread, and never on the caller's."""

import threading
from collections.abc import Callable

from memotel.nudges import Nudges
from memotel.runtime import BackgroundLoop

PATIENCE_S = 20.0


def test_nudges_run_in_order_and_off_the_callers_thread() -> None:
    ran: list[int] = []
    threads: set[int] = set()
    is_done = threading.Event()

    def run(function: Callable[[], object]) -> None:
        threads.add(threading.get_ident())
        function()

    nudges = Nudges(run)
    for number in range(5):
        nudges.add(lambda number=number: ran.append(number))
    nudges.add(is_done.set)
    assert is_done.wait(PATIENCE_S)
    assert ran == [0, 1, 2, 3, 4]
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_nudges_of_many_threads_all_run_on_one() -> None:
    threads: set[int] = set()
    left = threading.Semaphore(0)

    def run(function: Callable[[], object]) -> None:
        threads.add(threading.get_ident())
        function()

    nudges = Nudges(run)
    callers = [threading.Thread(target=nudges.add, args=(left.release,)) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all(left.acquire(timeout=PATIENCE_S) for _ in callers)
    assert len(threads) == 1


def test_loop_that_is_closed_does_not_end_the_nudges() -> None:
    ran: list[str] = []
    is_done = threading.Event()

    def run(function: Callable[[], object]) -> None:
        ran.append("")
        if len(ran) == 1:
            raise RuntimeError("Event loop is closed")
        function()

    nudges = Nudges(run)
    nudges.add(lambda: ran.append("never"))
    nudges.add(is_done.set)
    assert is_done.wait(PATIENCE_S)
    assert "never" not in ran


def test_a_nudge_starts_the_loop_and_runs_on_it() -> None:
    loop = BackgroundLoop()
    is_done = threading.Event()
    on_loop: list[bool] = []

    def note() -> None:
        on_loop.append(loop.is_current())
        is_done.set()

    loop.call_in_a_moment(note)
    assert is_done.wait(PATIENCE_S)
    assert on_loop == [True]
