"""The process runtime: lazy, one loop, counters that agree, and a fresh one after a fork."""

import asyncio
import contextlib
import os
import subprocess
import sys
import threading

import pytest

from memotel.counts import Count, Counts, Gauge
from memotel.errors import MemotelError
from memotel.runtime import BackgroundLoop, new_event_loop


def test_loop_starts_with_its_first_use_and_only_once() -> None:
    loop = BackgroundLoop()
    assert not loop.is_started

    found: list[asyncio.AbstractEventLoop] = []
    threads = [threading.Thread(target=lambda: found.append(loop.start())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert loop.is_started
    assert len({id(each) for each in found}) == 1


def test_loop_refuses_to_wait_for_itself() -> None:
    loop = BackgroundLoop()

    async def inside() -> None:
        loop.run(asyncio.sleep(0), 1)

    with pytest.raises(MemotelError, match="own loop"):
        loop.run(inside(), 10)


@pytest.mark.parametrize("kind", ["", "asyncio"], ids=["uvloop", "asyncio"])
def test_what_ends_any_other_loop_does_not_end_this_one(
    kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MEMOTEL_LOOP", kind)
    loop = BackgroundLoop()

    for number in range(3):
        loop.call_soon(sys.exit, number)
        assert loop.submit(asyncio.sleep(0, number)).result(20) == number

    assert "SystemExit" in caplog.text


def test_import_and_construction_start_nothing() -> None:
    code = (
        "import threading, sys, memotel\n"
        "from memotel import MemoryClient, Adapter, Provider, resolve\n"
        "MemoryClient(resolve(Provider.REKALL, Adapter.DIRECT, api_key='rk_x'))\n"
        "print(threading.active_count(), 'opentelemetry.sdk' in sys.modules, 'prometheus_client' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.split() == ["1", "False", "False"]


def test_background_loop_is_uvloops_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    uvloop = pytest.importorskip("uvloop")
    monkeypatch.delenv("MEMOTEL_LOOP", raising=False)

    with contextlib.closing(new_event_loop()) as loop:
        assert isinstance(loop, uvloop.Loop)


def test_uvloop_reports_errors_but_for_a_closed_connections_last_words(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("uvloop")
    monkeypatch.delenv("MEMOTEL_LOOP", raising=False)
    closed = RuntimeError("unable to perform operation on <TCPTransport>; the handler is closed")

    with contextlib.closing(new_event_loop()) as loop:
        loop.call_exception_handler({"message": "Fatal error on SSL protocol", "exception": closed})
        assert not caplog.records
        loop.call_exception_handler({"message": "It broke", "exception": RuntimeError("so")})

    assert [record.message.splitlines()[0] for record in caplog.records] == ["It broke"]


def test_background_loop_is_asyncios_where_it_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMOTEL_LOOP", "asyncio")

    with contextlib.closing(new_event_loop()) as loop:
        assert isinstance(loop, asyncio.SelectorEventLoop)


def test_background_loop_is_asyncios_where_uvloop_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)

    with contextlib.closing(new_event_loop()) as loop:
        assert isinstance(loop, asyncio.SelectorEventLoop)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_fork_gives_the_child_a_fresh_runtime_and_leaves_the_parent_its_own() -> None:
    code = (
        "import asyncio, os, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "from memotel import runtime\n"
        "from memotel.counts import Count\n"
        "before = runtime.current()\n"
        "before.loop.run(asyncio.sleep(0), 10)\n"
        "before.counts.add(Count.RECALLS, 'rekall', 'direct', 'hit')\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    now = runtime.current()\n"
        "    now.loop.run(asyncio.sleep(0), 10)\n"
        "    ok = now is not before and now.counts.total(Count.RECALLS) == 0\n"
        "    os._exit(0 if ok else 1)\n"
        "_, status = os.waitpid(pid, 0)\n"
        "before.loop.run(asyncio.sleep(0), 10)\n"
        "print(os.waitstatus_to_exitcode(status), before.counts.total(Count.RECALLS))\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.split() == ["0", "1"]


def test_counts_lose_nothing_under_threads() -> None:
    counts = Counts()

    def work() -> None:
        for _ in range(2_000):
            counts.add(Count.RECALLS, "rekall", "direct", "hit")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts.total(Count.RECALLS) == 8_000


def test_counts_show_several_changes_as_one() -> None:
    counts = Counts()
    stop = threading.Event()
    odd: list[float] = []

    def look() -> None:
        while not stop.is_set():
            shot = counts.snapshot()
            accepted = sum(shot.get(Count.ACCEPTED, {}).values())
            pending = sum(shot.get(Gauge.OUTBOX_PENDING, {}).values())
            ended = sum(shot.get(Count.WRITES, {}).values())
            if accepted != pending + ended:
                odd.append(accepted - pending - ended)

    looker = threading.Thread(target=look)
    looker.start()
    for _ in range(3_000):
        counts.apply((Count.ACCEPTED, ("r",), 1), (Gauge.OUTBOX_PENDING, ("r",), 1))
        counts.apply((Gauge.OUTBOX_PENDING, ("r",), -1), (Count.WRITES, ("r",), 1))
    stop.set()
    looker.join()

    assert odd == []


def test_counts_add_up_gauges_of_several_sources() -> None:
    counts = Counts()
    for value in (1.0, 2.0):
        counts.add_source(lambda value=value: [(Gauge.PERMITS_IN_USE, ("rekall",), value)])  # type: ignore[misc] # bound early on purpose

    assert counts.snapshot()[Gauge.PERMITS_IN_USE] == {("rekall",): 3.0}
