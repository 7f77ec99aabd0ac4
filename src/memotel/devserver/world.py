"""Everything one development server knows, owned by its loop."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from memotel.devserver.book import FaultBook
from memotel.devserver.changes import Changes
from memotel.devserver.errors import Style
from memotel.devserver.keys import Keyring
from memotel.devserver.limits import Meter, Quota, RateLimit, unlimited
from memotel.devserver.routes import Route, Service
from memotel.devserver.shapes import Shapes
from memotel.devserver.store import Store

_T = TypeVar("_T")
REQUESTS_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request as it arrived.

    ``status`` is what was answered, 0 while or when nothing was; header names are lower case and
    their values whole, credentials too: keep it to tests. ``at`` is in monotonic seconds.
    """

    route: Route | None
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    request_id: str
    at: float
    status: int = 0


@dataclass(slots=True)
class Arrival:
    """A request on its way: what came, and the status once the answer has begun."""

    request: SeenRequest
    status: int = 0


@dataclass
class World:
    """The server's state. Not thread-safe: every access is on the server's loop."""

    store: Store
    keys: Keyring
    shapes: Shapes = field(default_factory=Shapes)
    faults: FaultBook = field(default_factory=FaultBook)
    arrivals: Counter[Route] = field(default_factory=Counter)
    requests: deque[Arrival] = field(default_factory=lambda: deque(maxlen=REQUESTS_KEPT))
    rates: dict[Service, RateLimit] = field(default_factory=dict)
    quotas: dict[Service, Quota] = field(default_factory=dict)
    in_progress: Counter[tuple[Service, str]] = field(default_factory=Counter)
    changes: Changes = field(default_factory=Changes)
    offset_s: float = 0.0
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _meters: dict[tuple[Service, str], Meter] = field(default_factory=dict)

    def now(self) -> float:
        """Return the server's time in unix seconds: the real one plus what it was advanced by."""
        return time.time() + self.offset_s

    def style(self, service: Service) -> Style:
        """Return how this service's errors are written now."""
        return Style(service, self.shapes.error, self.now())

    def advance(self, seconds: float) -> None:
        """Put the clock forward."""
        self.offset_s += seconds

    def meter(self, service: Service, account: str) -> Meter:
        """Return the use of one key of one service."""
        key = (service, account)
        if key not in self._meters:
            rate = self.rates.get(service) or unlimited(service)
            self._meters[key] = Meter(rate, self.quotas.get(service))
        return self._meters[key]

    def set_quota(self, quota: Quota | None, services: Iterable[Service]) -> None:
        """Give every key of the services this quota and count its writes from 0."""
        for service in services:
            _put(self.quotas, service, quota)
        for (service, _), meter in self._meters.items():
            meter.quota, meter.adds = self.quotas.get(service), 0

    def set_rate(self, rate: RateLimit | None, services: Iterable[Service]) -> None:
        """Give every key of the services this rate limit and start its windows afresh."""
        chosen = set(services)
        for service in chosen:
            _put(self.rates, service, rate)
        for (service, account), old in list(self._meters.items()):
            if service in chosen:
                new = Meter(rate or unlimited(service), old.quota, old.adds)
                self._meters[service, account] = new

    def reset(self) -> None:
        """Forget items, requests, faults, limits; answer nothing that still waits."""
        self.store.clear()
        self.faults, self.shapes, self.offset_s = FaultBook(), Shapes(), 0.0
        for table in (self.arrivals, self.rates, self.quotas, self._meters):
            table.clear()
        self.requests.clear()
        self.end_waits()

    def end_waits(self) -> None:
        """Let every request that waits on purpose go unanswered."""
        self.ended.set()
        self.ended = asyncio.Event()


def _put(table: dict[Service, _T], service: Service, value: _T | None) -> None:
    if value is None:
        table.pop(service, None)
    else:
        table[service] = value
