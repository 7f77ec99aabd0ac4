"""Host names to addresses, on threads of our own: a hung look-up holds up neither another host nor the exit.

asyncio's own getaddrinfo runs on the default executor, whose threads are joined at exit and refuse work during it.
Here each look-up is a flight that everybody who asks for that host joins, on a daemon thread that may hang for as
long as the system's resolver does.
"""

import ipaddress
import os
import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from memotel.deadline import monotonic
from memotel.http.connecting import Address
from memotel.http.waiting import flight_result

Lookup = Callable[[str, int], tuple[Address, ...]]
"""Resolves a host name and port, blocking; raises `OSError`."""

Addresses = tuple[Address, ...]
Key = tuple[str, int]


def system_lookup(host: str, port: int) -> Addresses:
    """Ask the system's resolver; IPv6 and IPv4 alternate, in its order of preference."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return interleave(tuple(Address(family, sockaddr) for family, _, _, _, sockaddr in found))


def interleave(addresses: Addresses) -> Addresses:
    """Order addresses so that families alternate: a broken family costs one attempt, not several."""
    if not addresses:
        return ()
    first = deque(a for a in addresses if a.family == addresses[0].family)
    other = deque(a for a in addresses if a.family != addresses[0].family)
    ordered: list[Address] = []
    while first or other:
        if first:
            ordered.append(first.popleft())
        if other:
            ordered.append(other.popleft())
    return tuple(ordered)


def known_addresses(host: str, port: int) -> Addresses:
    """Return the addresses of a numeric host or of `localhost`, which need no look-up; else none."""
    if host == "localhost":
        return (
            Address(socket.AF_INET, ("127.0.0.1", port)),
            Address(socket.AF_INET6, ("::1", port, 0, 0)),
        )
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return ()
    if isinstance(number, ipaddress.IPv4Address):
        return (Address(socket.AF_INET, (host, port)),)
    # A scoped address needs the interface's number, which only the system knows.
    return () if number.scope_id else (Address(socket.AF_INET6, (host, port, 0, 0)),)


class Resolver:
    """Look-ups of one process, one flight per host and port. Thread-safe; serves any number of loops.

    An answer is kept `keep_s` seconds, an error not at all. At most `max_threads` look-ups run at once; further hosts
    wait for a free thread, within their caller's deadline.
    """

    def __init__(
        self, lookup: Lookup = system_lookup, *, keep_s: float = 5.0, max_threads: int = 32
    ) -> None:
        self._lookup = lookup
        self._keep_s = keep_s
        self._max_threads = max_threads
        self._lock = threading.Lock()
        self._threads = 0
        self._waiting: deque[tuple[Key, Future[Addresses]]] = deque()
        self._flights: dict[Key, Future[Addresses]] = {}
        self._answers: dict[Key, tuple[float, Addresses]] = {}

    async def addresses(self, host: str, port: int, left_s: float | None) -> Addresses:
        """Return the addresses of `host`; raises `TimeoutError` after `left_s` seconds, `OSError` if it has none."""
        known = known_addresses(host, port)
        if known:
            return known
        found = await flight_result(self.flight((host, port)), left_s)
        if not found:
            raise OSError(f"{host} has no address")
        return found

    def flight(self, key: Key) -> "Future[Addresses]":
        """Return the look-up of a host: an answer from a moment ago, the one under way, or a new one."""
        with self._lock:
            kept = self._answers.get(key)
            if kept is not None and monotonic() - kept[0] < self._keep_s:
                return _landed(kept[1])
            flight = self._flights.get(key)
            if flight is not None:
                return flight
            flight = self._flights[key] = Future()
            self._waiting.append((key, flight))
            must_start = self._threads < self._max_threads
            self._threads += must_start
        if must_start:
            self._start_work()
        return flight

    def _launch(self) -> None:
        threading.Thread(target=self._work, name="memotel-dns", daemon=True).start()

    def _start_work(self) -> None:
        try:
            self._launch()
        except RuntimeError:
            # The interpreter is exiting and starts no more threads: an old answer, else a look-up here and now.
            self._work(is_exiting=True)

    def _work(self, *, is_exiting: bool = False) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._threads -= 1
                    return
                key, flight = self._waiting.popleft()
                old = self._answers.get(key)
            if is_exiting and old is not None:
                self._land(key, flight, old[1])
            else:
                self._fly(key, flight)

    def _fly(self, key: Key, flight: "Future[Addresses]") -> None:
        try:
            found = self._lookup(*key)
        except Exception as error:  # noqa: BLE001 # whatever it was, those who joined the flight must hear of it
            with self._lock:
                self._flights.pop(key, None)
            flight.set_exception(error)
        else:
            with self._lock:
                self._answers[key] = (monotonic(), found)
            self._land(key, flight, found)

    def _land(self, key: Key, flight: "Future[Addresses]", found: Addresses) -> None:
        with self._lock:
            self._flights.pop(key, None)
        flight.set_result(found)


def _landed(found: Addresses) -> "Future[Addresses]":
    flight: Future[Addresses] = Future()
    flight.set_result(found)
    return flight


class _Shared:
    """The resolver of this process; a forked child gets its own, for the threads and locks are its parent's."""

    def __init__(self) -> None:
        self.resolver = Resolver()

    def renew(self) -> None:
        self.resolver = Resolver()


_shared = _Shared()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.renew)


def shared_resolver() -> Resolver:
    """Return the resolver of this process."""
    return _shared.resolver
