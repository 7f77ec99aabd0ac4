"""`close` and `flush` of all four memories: in time whatever the service does, idempotent, and nothing raised."""

import asyncio
import gc
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator

import pytest
from books import assert_books_balance
from talks import REPLY, TALKS, MakeTalk, StartTalk, deliveries, kept, starting

from memotel.devserver import DevServer, Fault, Route
from memotel.outcomes import WriteOutcome
from memotel.values import FlushReport
from memotel.writes.books import Totals

FACT = "I keep seven hives of bees behind the house"
PROMPT_S = 20.0
"""Far above what a call that waits for nothing takes, far below what a wait by mistake would take."""
FOREVER_S = 250.0
WRITES = (Route.MEMORYSYNC_ADD_TURN, Route.REKALL_CREATE)
OUTAGES = {
    "hang": Fault("hang", "writes"),
    "refuse": Fault("refuse"),
    "silent": Fault("silent"),
    "failing": Fault("status", "writes", status=503),
}


@pytest.fixture(params=TALKS)
def talk(request: pytest.FixtureRequest, memory_server: DevServer) -> Iterator[StartTalk]:
    """Return what starts a talk with one of the four memories."""
    with starting(TALKS[request.param], memory_server, exit_drain_timeout=0.0) as start:
        yield start


def test_close_delivers_and_a_second_close_changes_nothing(
    talk: StartTalk, memory_server: DevServer
) -> None:
    one = talk()
    one.say(FACT)
    one.close(30.0)
    books = one.books()
    one.close(30.0)
    one.close(0.0)
    assert kept(memory_server) == deliveries(memory_server) == {FACT: 1, REPLY: 1}
    assert one.books() == books
    assert (books.delivered, books.pending) == (2, 0)


def test_close_of_a_memory_that_was_never_used_starts_and_sends_nothing(
    talk: StartTalk, memory_server: DevServer
) -> None:
    one = talk()
    one.close(30.0)
    one.close(30.0)
    assert memory_server.requests() == ()


def test_closed_memory_lets_its_agent_answer_and_keeps_nothing(
    talk: StartTalk, memory_server: DevServer
) -> None:
    one = talk()
    one.close()
    one.say(FACT)
    assert one.flush(0.0) == FlushReport(0, 0, 0)
    assert kept(memory_server) == {}


@pytest.mark.parametrize("outage", OUTAGES)
def test_flush_and_close_end_in_time_during_an_outage_and_account_for_all(
    talk: StartTalk, memory_server: DevServer, outage: str
) -> None:
    memory_server.faults.set(OUTAGES[outage])
    one = talk(recall_timeout=0.3)
    one.say(FACT)
    began = time.monotonic()
    assert one.flush(0.1).pending == 2
    one.close(0.1)
    assert time.monotonic() - began < PROMPT_S
    books = one.books()
    assert (books.ended[WriteOutcome.DROPPED], sum(books.ended.values())) == (2, 2)
    assert_books_balance(memory_server, books)


def test_flush_retries_no_harder_during_an_outage(
    talk: StartTalk, memory_server: DevServer
) -> None:
    """The service asks for a wait, and each flush knows that nothing can happen until then."""
    memory_server.faults.set(Fault("status", "writes", status=503, retry_after_s=FOREVER_S))
    one = talk()
    one.say(FACT)
    assert memory_server.wait_until(lambda: len(memory_server.requests(*WRITES)) >= 1)
    began = time.monotonic()
    reports = [one.flush(60.0) for _ in range(5)]
    assert time.monotonic() - began < PROMPT_S
    assert {report.pending for report in reports} == {2}
    assert len(memory_server.requests(*WRITES)) == 1
    assert_books_balance(memory_server, one.books())


def test_block_closes_what_it_opens_synchronously_and_asynchronously(
    talk: StartTalk, memory_server: DevServer
) -> None:
    first, second = talk(session_id="first"), talk(session_id="second")
    with first.memory:
        first.say(FACT)

    async def block() -> None:
        async with second.memory:
            await asyncio.to_thread(second.say, FACT)

    asyncio.run(block())
    assert kept(memory_server) == deliveries(memory_server) == {FACT: 2, REPLY: 2}
    for one in (first, second):
        assert one.books().pending == 0


def test_block_that_fails_closes_too_and_lets_the_error_pass(
    talk: StartTalk, memory_server: DevServer
) -> None:
    one = talk()

    def application() -> None:
        with one.memory:
            one.say(FACT)
            raise KeyError("the application's own")

    with pytest.raises(KeyError, match="the application's"):
        application()
    assert kept(memory_server) == {FACT: 1, REPLY: 1}


@pytest.mark.parametrize("make", TALKS.values(), ids=TALKS)
def test_memory_that_is_dropped_without_close_still_delivers(
    make: MakeTalk, memory_server: DevServer
) -> None:
    make(memory_server.url).say(FACT)
    gc.collect()
    assert memory_server.wait_until(lambda: kept(memory_server)[FACT] == 1)


NAMES_THAT_HANG = """
    import socket, threading
    from memotel import Adapter, MemoryClient, Provider, Scope, Speaker, Turn, resolve

    is_asked = threading.Event()

    def hang(*_, **__):
        is_asked.set()
        threading.Event().wait()

    socket.getaddrinfo = hang
    memory = MemoryClient(
        resolve(
            Provider.REKALL,
            Adapter.DIRECT,
            url="https://memory.example",
            api_key="rk_1",
            exit_drain_timeout=0.5,
        )
    )
    for number in range(3):
        turn = Turn(Scope("ada", "s"), Speaker.HUMAN, f"turn {number}", source="test")
        memory.write(turn)
    assert is_asked.wait(30)
"""


@pytest.mark.parametrize("ending", ["", "raise SystemExit(3)", "memory.close(0.2)"])
def test_exit_never_hangs_on_names_that_are_not_resolved(ending: str) -> None:
    code = textwrap.dedent(NAMES_THAT_HANG) + ending
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == (3 if "SystemExit" in ending else 0)
    assert "3 accepted writes could not be delivered" in done.stderr
    assert "Traceback" not in done.stderr


def test_books_that_do_not_balance_are_found(memory_server: DevServer) -> None:
    lost = Totals(accepted=2, ended={WriteOutcome.STORED: 1})
    with pytest.raises(AssertionError):
        assert_books_balance(memory_server, lost)
    never_arrived = Totals(accepted=1, ended={WriteOutcome.STORED: 1})
    with pytest.raises(AssertionError):
        assert_books_balance(memory_server, never_arrived)
