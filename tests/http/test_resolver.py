import asyncio
import socket
import subprocess
import sys
import threading
from concurrent.futures import Future

import pytest
from http_calls import client_for, in_loop, post
from raw_server import answering, http_answer, raw_server

from memotel.errors import BudgetExceededError, TransportError
from memotel.http.connecting import Address
from memotel.http.resolver import Resolver, interleave, known_addresses, system_lookup
from memotel.outcomes import Phase


def v4(host: str, port: int = 80) -> Address:
    return Address(socket.AF_INET, (host, port))


def v6(host: str, port: int = 80) -> Address:
    return Address(socket.AF_INET6, (host, port, 0, 0))


class Lookups:
    """Look-ups that a test holds back and lets go, host by host."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._gates: dict[str, threading.Event] = {}
        self._port = 0
        self._lock = threading.Lock()

    def to(self, port: int) -> "Lookups":
        """Have every host be loopback on `port`."""
        self._port = port
        return self

    def hold(self, host: str) -> threading.Event:
        """Have look-ups of `host` hang until the event that is returned is set."""
        return self._gates.setdefault(host, threading.Event())

    def __call__(self, host: str, port: int) -> tuple[Address, ...]:
        with self._lock:
            self.asked.append(host)
        gate = self._gates.get(host)
        assert gate is None or gate.wait(30)
        return (v4("127.0.0.1", self._port or port),)


def test_a_hung_look_up_is_left_at_the_deadline_and_does_not_hold_up_another_host() -> None:
    async def scenario() -> None:
        async with raw_server(answering(http_answer())) as server:
            lookups = Lookups().to(server.port)
            gate = lookups.hold("hung.example")
            resolver = Resolver(lookups)
            async with (
                client_for("http://hung.example", resolver=resolver) as hung,
                client_for("http://well.example", resolver=resolver) as well,
            ):
                with pytest.raises(BudgetExceededError) as caught:
                    await post(hung, budget_s=0.2)
                assert caught.value.phase is Phase.DNS
                assert (await post(well)).status == 200
                gate.set()
                assert (await post(hung)).status == 200

    in_loop(scenario())


def test_everybody_who_asks_for_a_host_joins_one_flight() -> None:
    async def scenario() -> None:
        lookups = Lookups()
        gate = lookups.hold("one.example")
        resolver = Resolver(lookups)
        waiters = [
            asyncio.ensure_future(resolver.addresses("one.example", 80, 20)) for _ in range(20)
        ]
        await asyncio.sleep(0)
        gate.set()
        assert set(await asyncio.gather(*waiters)) == {(v4("127.0.0.1"),)}
        assert lookups.asked == ["one.example"]

    in_loop(scenario())


def test_a_waiter_that_gives_up_leaves_the_flight_to_the_others() -> None:
    async def scenario() -> None:
        lookups = Lookups()
        gate = lookups.hold("one.example")
        resolver = Resolver(lookups)
        patient = asyncio.ensure_future(resolver.addresses("one.example", 80, 20))
        with pytest.raises(TimeoutError):
            await resolver.addresses("one.example", 80, 0.05)
        gate.set()
        assert await patient == (v4("127.0.0.1"),)

    in_loop(scenario())


def test_an_answer_is_kept_for_its_time() -> None:
    async def scenario() -> None:
        lookups = Lookups()
        kept, not_kept = Resolver(lookups, keep_s=60), Resolver(lookups, keep_s=0)
        for resolver in (kept, kept, not_kept, not_kept):
            await resolver.addresses("one.example", 80, 20)
        assert len(lookups.asked) == 3

    in_loop(scenario())


def test_a_failure_is_reported_to_all_and_not_kept() -> None:
    async def scenario() -> None:
        asked: list[str] = []

        def fails(host: str, port: int) -> tuple[Address, ...]:
            asked.append(host)
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        resolver = Resolver(fails)
        async with client_for("http://nowhere.example", resolver=resolver) as client:
            for _ in range(2):
                with pytest.raises(TransportError, match="not known") as caught:
                    await post(client)
                assert caught.value.is_unsent
        assert len(asked) == 2

    in_loop(scenario())


def test_a_host_without_addresses_is_a_failure() -> None:
    async def scenario() -> None:
        with pytest.raises(OSError, match="no address"):
            await Resolver(lambda host, port: ()).addresses("empty.example", 80, 20)

    in_loop(scenario())


def test_hung_hosts_beyond_the_threads_wait_for_one_and_start_no_more() -> None:
    async def scenario() -> None:
        lookups = Lookups()
        gates = [lookups.hold(f"hung{n}.example") for n in range(2)]
        resolver = Resolver(lookups, max_threads=2)
        hung = [resolver.flight((f"hung{n}.example", 80)) for n in range(2)]
        third = resolver.flight(("third.example", 80))
        assert not third.done()
        gates[0].set()
        assert third.result(20) == (v4("127.0.0.1"),)
        assert not hung[1].done()
        gates[1].set()
        assert hung[1].result(20) == (v4("127.0.0.1"),)

    in_loop(scenario())


def test_a_loop_that_closed_meanwhile_is_no_matter() -> None:
    lookups = Lookups()
    gate = lookups.hold("late.example")
    resolver = Resolver(lookups)

    async def gives_up() -> None:
        with pytest.raises(TimeoutError):
            await resolver.addresses("late.example", 80, 0.01)

    in_loop(gives_up())
    flight = resolver.flight(("late.example", 80))
    landed: Future[None] = Future()
    flight.add_done_callback(lambda _: landed.set_result(None))
    gate.set()
    landed.result(20)
    assert flight.result() == (v4("127.0.0.1"),)


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("127.0.0.1", (v4("127.0.0.1"),)),
        ("10.1.2.3", (v4("10.1.2.3"),)),
        ("2001:db8::1", (v6("2001:db8::1"),)),
        ("localhost", (v4("127.0.0.1"), v6("::1"))),
        ("memory.example", ()),
        ("fe80::1%eth0", ()),
    ],
)
def test_known_addresses_need_no_look_up(host: str, addresses: tuple[Address, ...]) -> None:
    assert known_addresses(host, 80) == addresses


def test_the_system_knows_localhost() -> None:
    assert v4("127.0.0.1", 9876) in system_lookup("localhost", 9876)


def test_families_alternate_in_the_systems_order() -> None:
    six, four = [v6(f"::{n}") for n in (1, 2, 3)], [v4(f"10.0.0.{n}") for n in (1, 2)]
    assert interleave((*six, *four)) == (six[0], four[0], six[1], four[1], six[2])
    assert interleave((*four, *six)) == (four[0], six[0], four[1], six[1], six[2])
    assert interleave(()) == ()


EXIT_SCRIPT = """
import asyncio, threading
from memotel.http.resolver import Resolver

def hangs(host, port):
    threading.Event().wait()

async def main():
    try:
        await Resolver(hangs).addresses("hung.example", 80, 0.05)
    except TimeoutError:
        print("gave up")

asyncio.run(main())
"""

LATE_SCRIPT = """
import asyncio, threading
from memotel.http import resolver

looked_up = []

def lookup(host, port):
    looked_up.append(host)
    return resolver.known_addresses("127.0.0.1", port)

def ask():
    print(asyncio.run(service.addresses("memory.example", 80, 5))[0].sockaddr, len(looked_up))

service = resolver.Resolver(lookup, keep_s=0)
EARLY
threading._register_atexit(ask)
"""


def run_python(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_a_hung_look_up_does_not_hold_up_the_exit() -> None:
    assert run_python(EXIT_SCRIPT) == "gave up"


@pytest.mark.parametrize("early", ["", "ask()"], ids=["first", "again"])
def test_a_look_up_during_the_exit_is_answered(early: str) -> None:
    """From Python 3.12 on no thread starts there; the answer is an older one, or is found without a thread."""
    lines = run_python(LATE_SCRIPT.replace("EARLY", early)).splitlines()
    assert all(line.startswith("('127.0.0.1', 80)") for line in lines)
    assert len(lines) == (2 if early else 1)


def test_a_resolver_that_can_start_no_thread_answers_all_the_same() -> None:
    lookups = Lookups()
    resolver = NoThreads(lookups, keep_s=0)
    assert resolver.flight(("one.example", 80)).result(0) == (v4("127.0.0.1"),)
    assert resolver.flight(("one.example", 80)).result(0) == (v4("127.0.0.1"),)
    assert lookups.asked == ["one.example"]


class NoThreads(Resolver):
    """A resolver in an interpreter that is exiting."""

    def _launch(self) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")
