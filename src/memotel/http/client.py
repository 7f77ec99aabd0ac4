"""The HTTP client of one account: one request at a time to its answer, by a deadline that nothing can stretch."""

import asyncio
from collections.abc import Coroutine
from functools import cache
from importlib.metadata import version
from typing import Any, TypeVar

import httpx

from memotel.config import NetworkPolicy
from memotel.deadline import Deadline, current_deadline
from memotel.errors import (
    BudgetExceededError,
    MemotelError,
    TransportError,
)
from memotel.http.bodies import SLACK_BYTES, Bound
from memotel.http.carriers import Carrier
from memotel.http.engines import Maker
from memotel.http.errors import memotel_error
from memotel.http.exchange import Exchange, Progress, current_exchange
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.http.outgoing import Fields, Outgoing, field_of
from memotel.http.resolver import Resolver, shared_resolver
from memotel.http.routes import direct_route
from memotel.outcomes import Phase
from memotel.settings import read_environment

MAX_KNOWN_PATHS = 64
MAX_KNOWN_HEADERS = 16
Headers = tuple[tuple[str, str], ...]
T = TypeVar("T")


class HttpClient:
    """Sends requests to one service over at most `pool_size` connections.

    Belongs to memotel's background loop: every coroutine of it runs there. The constructor opens and builds nothing;
    connections, TLS setting and proxy come with the first request.

    Attributes:
        address: host name of the service.
        port: its port.
    """

    def __init__(
        self,
        base_url: str,
        policy: NetworkPolicy,
        *,
        pool_size: int,
        resolver: Resolver | None = None,
    ) -> None:
        route = direct_route(base_url)
        self.address = route.address
        self.port = route.port
        self._base_url = base_url.rstrip("/")
        self._where = f"{self.address}:{self.port}"
        self._policy = policy
        self._resolver = resolver
        self._free = asyncio.Semaphore(pool_size)
        self._bound = Bound(policy.max_response_bytes, self._where)
        self._places: dict[str, tuple[httpx.URL, bytes]] = {}
        self._known: dict[Headers, Fields] = {}
        self._carrier: Carrier | None = None
        self._is_closed = False
        self._common = dict(field_of(name, value) for name, value in policy.headers.items())
        self._usual = {
            b"host": httpx.URL(base_url).netloc,
            b"user-agent": user_agent().encode(),
            b"accept": b"application/json",
            b"accept-encoding": b"identity",
            b"content-type": b"application/json",
        }

    @property
    def connections(self) -> int:
        """How many connections are held now, in use or idle; 0 over a transport of the caller's."""
        return 0 if self._carrier is None else self._carrier.connections

    async def send(
        self,
        request: HttpRequest,
        *,
        headers: Headers = (),
        deadline: Deadline,
        progress: Progress,
    ) -> HttpResponse:
        """Send `request` once and return the answer, whatever its status.

        Ends by the deadline by itself and must not be cancelled. Of two headers of one name the policy's wins, then
        the request's, then that of `headers`.

        Raises:
            BudgetExceededError: the deadline came first; `phase` says where the request was.
            TransportError: no usable answer; `is_unsent` and `has_response` say what the service can know.
            ResponseFormatError: the answer is too large, or compressed.
            ConfigurationError: a proxy, CA file, client certificate or header cannot be used.
        """
        exchange = self._exchange(deadline, progress)
        return await self._bounded(exchange, self._sent(request, headers, exchange))

    async def warm(self, deadline: Deadline, progress: Progress) -> None:
        """Read the TLS and proxy setting and open a connection, so that the first request need not.

        Sends nothing. Raises what `send` would. Over aiohttp or a transport of the caller's nothing is opened.
        """
        exchange = self._exchange(deadline, progress)
        await self._bounded(exchange, self._warmed(exchange))

    def _exchange(self, deadline: Deadline, progress: Progress) -> Exchange:
        return Exchange(deadline, progress, self._policy.max_response_bytes + SLACK_BYTES)

    async def _bounded(self, exchange: Exchange, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` with the exchange in its context, and its failures in terms of ours."""
        deadline_token = current_deadline.set(exchange.deadline)
        exchange_token = current_exchange.set(exchange)
        try:
            return await work
        except MemotelError:
            raise
        except Exception as error:
            failure = memotel_error(error, exchange, self._where)
            if failure is None:
                raise
        finally:
            current_exchange.reset(exchange_token)
            current_deadline.reset(deadline_token)
        raise failure

    async def _warmed(self, exchange: Exchange) -> None:
        self._refuse_if_closed()
        carrier = self._carrier or await self._prepare(exchange)
        await carrier.warm()

    async def _sent(
        self, request: HttpRequest, headers: Headers, exchange: Exchange
    ) -> HttpResponse:
        await self._admitted(exchange)
        try:
            return await self._carried(request, headers, exchange)
        finally:
            self._free.release()

    async def _admitted(self, exchange: Exchange) -> None:
        """Take one of the places, waiting until the deadline where none is free; the caller gives it back."""
        left_s = exchange.deadline.remaining_s()
        try:
            if left_s <= 0:
                raise TimeoutError
            if not self._free.locked():
                await self._free.acquire()
                return
            exchange.progress.phase = Phase.QUEUE
            async with asyncio.timeout(left_s):
                await self._free.acquire()
        except TimeoutError:
            raise BudgetExceededError(
                f"no time left for a connection to {self._where}", phase=exchange.progress.phase
            ) from None

    async def _carried(
        self, request: HttpRequest, headers: Headers, exchange: Exchange
    ) -> HttpResponse:
        self._refuse_if_closed()
        carrier = self._carrier or await self._prepare(exchange)
        response = await carrier.carry(self._outgoing(request, headers), exchange, self._bound)
        if response.status == 407:
            raise TransportError(
                f"{self._where}: the proxy wants credentials (407): put them into the proxy URL",
                has_response=True,
            )
        return response

    async def _prepare(self, exchange: Exchange) -> Carrier:
        maker = Maker(
            self._base_url,
            self._policy,
            self._resolver or shared_resolver(),
            self._where,
            user_agent(),
        )
        route = await maker.route(read_environment(), exchange)
        # Several first requests may come this way at once, and a close between them.
        self._refuse_if_closed()
        if self._carrier is None:
            self._carrier = maker.carrier(route)
        return self._carrier

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise TransportError(f"the client for {self._where} is closed", is_unsent=True)

    def _outgoing(self, request: HttpRequest, headers: Headers) -> Outgoing:
        url, target = self._place(request.path)
        chosen = self._usual.copy()
        if request.body is None:
            del chosen[b"content-type"]
        chosen.update(self._fields(headers))
        chosen.update(field_of(name, value) for name, value in request.headers)
        chosen.update(self._common)
        if request.body is not None:
            chosen[b"content-length"] = b"%d" % len(request.body)
        return Outgoing(request.method, url, target, tuple(chosen.items()), request.body)

    def _place(self, path: str) -> tuple[httpx.URL, bytes]:
        place = self._places.get(path)
        if place is None:
            url = httpx.URL(self._base_url + path)
            place = url, url.raw_path
            if len(self._places) < MAX_KNOWN_PATHS:
                self._places[path] = place
        return place

    def _fields(self, headers: Headers) -> Fields:
        """Return an account's headers as they are written; they hardly ever change."""
        if not headers:
            return ()
        fields = self._known.get(headers)
        if fields is None:
            fields = tuple(field_of(name, value) for name, value in headers)
            if len(self._known) >= MAX_KNOWN_HEADERS:
                self._known.clear()
            self._known[headers] = fields
        return fields

    async def aclose(self) -> None:
        """Close every connection; requests in flight end as `TransportError`. Idempotent."""
        self._is_closed = True
        carrier, self._carrier = self._carrier, None
        if carrier is not None:
            await carrier.aclose()


@cache
def user_agent() -> str:
    """Return what we call ourselves: `memotel/<version>`."""
    return f"memotel/{version('memotel')}"
