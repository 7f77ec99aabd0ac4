"""An account: one credential at one service, and everything that is shared by all who use it."""

import random
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from weakref import WeakSet

from memotel.backends import codec_for
from memotel.backends.pace import read_pace
from memotel.calls import Call, Handler, Identity, Send
from memotel.config import ClientSettings, RecallPolicy
from memotel.counts import Count, Gauge, Labels
from memotel.credentials import Credential
from memotel.deadline import monotonic
from memotel.errors import MemotelError
from memotel.http import HttpClient
from memotel.http.messages import HttpResponse
from memotel.http.renewable import RenewableClient
from memotel.middleware.credentials import Credentials
from memotel.middleware.permits import Permits
from memotel.middleware.tenant import Tenant
from memotel.notices import Event, cause_of, notices_of
from memotel.outcomes import CircuitState, Operation, QuotaState
from memotel.policy.allowance import Allowance
from memotel.policy.breaker import CircuitBreaker
from memotel.policy.pauses import CredentialLatch, RatePause
from memotel.policy.quota import QuotaMachine
from memotel.policy.retry import TokenBucket
from memotel.runtime import Runtime
from memotel.values import Recall, Scope
from memotel.writes.path import WritePath

_QUOTA_EVENTS = {
    QuotaState.OK: Event.QUOTA_RETURNED,
    QuotaState.LIMITED: Event.QUOTA_LIMITED,
    QuotaState.SILENT: Event.QUOTA_SILENT,
}


class Account:
    """Pool, breaker, permits, quota, tenant and pauses of one account. The first client's policies hold for all.

    Nothing is opened here; connections are made by the first call.
    """

    def __init__(self, settings: ClientSettings, runtime: Runtime) -> None:
        self.key = settings.account
        self.provider = settings.provider
        self.settings = settings
        self.runtime = runtime
        self.notices = notices_of(self.provider, self.key)
        self.codec = codec_for(settings.provider, settings.project_id)
        self.recall_http = self._http(settings.permits.recalls)
        self.write_http = self._http(settings.writes.max_in_flight)
        self.credentials = Credentials(settings.credential, self.codec)
        self._credential_source = settings.credential.source if settings.credential else None
        self.tenant = Tenant(self.codec)
        self.circuit = CircuitBreaker(settings.breaker, random.random, self._circuit_changed)
        self.bucket = TokenBucket(settings.retry)
        self.permits = Permits(settings.permits.recalls)
        self.write_permits = Permits(settings.writes.max_in_flight)
        self.quota = QuotaMachine(self._quota_changed)
        self.latch = CredentialLatch(settings.writes.credentials_recheck_s)
        self.recall_rate = RatePause()
        self.allowance = Allowance()
        self.writes: WritePath | None = None
        self.clients: WeakSet[object] = WeakSet()
        self.handlers: dict[tuple[Identity, RecallPolicy], Handler] = {}
        self._declare()

    def _http(self, pool_size: int) -> RenewableClient:
        settings = self.settings
        return RenewableClient(
            lambda: HttpClient(settings.base_url, settings.network, pool_size=pool_size),
            settings.watchdog,
            self._client_renewed,
        )

    def _client_renewed(self) -> None:
        self.runtime.counts.add(Count.CLIENTS_RENEWED, self.provider)
        self.notices.say(
            Event.HTTP_CLIENT_RENEWED,
            "requests outlived their deadlines; new ones go to a fresh HTTP client",
        )

    def write_wait_s(self, writes: int) -> float:
        """Return the seconds for which one more write than `writes` holds back.

        It does so for an open circuit, and for the recalls' half of the rate limit.
        """
        circuit_s = self.circuit.wait_s(monotonic())
        return max(circuit_s, self.allowance.write_wait_s(time.time(), writes))

    @contextmanager
    def paced(self, *, is_write: bool) -> Iterator[None]:
        """Count a request on its way against the rate limit."""
        self.allowance.in_flight += 1
        self.allowance.writes_in_flight += is_write
        try:
            yield
        finally:
            self.allowance.in_flight -= 1
            self.allowance.writes_in_flight -= is_write

    def note_pace(self, response: HttpResponse) -> None:
        """Learn the rate limit from an answer's headers."""
        pace = read_pace(response)
        if pace is not None:
            self.allowance.observe(pace.limit, pace.remaining, pace.resets_at(time.time()))

    async def warm(self, send: Send, timeout_s: float) -> bool:
        """Read the credential, the TLS setting and the tenant before a recall has to wait for them."""
        call = Call(
            Operation.RECALL,
            Recall(Scope(), ""),
            provider=self.provider,
            adapter=self.settings.adapter,
            budget_s=timeout_s,
        )
        try:
            await self.credentials.headers(call)
            await self.recall_http.warm(call.deadline, call)
            if self.codec.needs_tenant:
                await self.tenant.name(call, send)
        except MemotelError:
            return False
        return True

    def adopt(self, credential: Credential | None) -> None:
        """Use a newer credential from now on, where a client of this account brings one: a key was rotated."""
        if credential is None or credential.source == self._credential_source:
            return
        self._credential_source = credential.source
        self.runtime.loop.call_soon(self._use, credential)

    def _use(self, credential: Credential) -> None:
        self.credentials.adopt(credential)
        self.tenant.forget()
        self.latch.next_check_at = 0.0
        self.credentials_accepted()

    def release(self) -> None:
        """Close the connections and leave the runtime; for the last client of the account."""
        self.runtime.accounts.pop(self.key, None)
        self.runtime.counts.remove_source(self._gauges)
        if self.runtime.loop.is_started:
            self.runtime.loop.spawn(self._close_connections())

    async def _close_connections(self) -> None:
        await self.recall_http.aclose()
        await self.write_http.aclose()

    def _declare(self) -> None:
        counts = self.runtime.counts
        for state in CircuitState:
            counts.declare(Count.CIRCUIT_TRANSITIONS, self.provider, state)
        counts.add_source(self._gauges)

    def _gauges(self) -> Iterable[tuple[Gauge, Labels, float]]:
        provider = self.provider
        circuit = self.circuit.state
        quota = self.quota.state(monotonic())
        for state in CircuitState:
            yield Gauge.CIRCUIT_STATE, (provider, state), float(state is circuit)
        for level in QuotaState:
            yield Gauge.QUOTA_STATE, (provider, level), float(level is quota)
        yield Gauge.CREDENTIALS_REJECTED, (provider,), float(self.latch.is_rejected)
        remaining = self.allowance.remaining(time.time())
        if remaining is not None:
            yield Gauge.RATELIMIT_REMAINING, (provider,), max(0.0, remaining)
        yield Gauge.PERMITS_IN_USE, (provider,), float(self.permits.in_use)
        yield Gauge.PERMITS_CAPACITY, (provider,), float(self.permits.capacity)

    def _circuit_changed(self, state: CircuitState) -> None:
        self.runtime.counts.add(Count.CIRCUIT_TRANSITIONS, self.provider, state)
        if state is CircuitState.OPEN:
            self.notices.enter(
                Event.CIRCUIT_OPENED, "the service is failing; replies go on without memories"
            )
        elif state is CircuitState.CLOSED:
            self.notices.enter(Event.CIRCUIT_CLOSED, "the service answers again")
            if self.writes is not None:
                self.writes.wake()

    def probe_failed(self, error: Exception) -> None:
        """Say why the circuit cannot close: what would find out whether the service is back fails by itself."""
        why = cause_of(error)
        self.notices.say(Event.RECALL_FAILED, f"{why}; the circuit stays open until that is mended")

    def credentials_accepted(self) -> None:
        """Send what waited for the credential: a recall has just been let in with it."""
        if self.writes is not None:
            self.writes.credentials_accepted()

    def _quota_changed(self, _: QuotaState, after: QuotaState) -> None:
        is_back = after is QuotaState.OK
        self.notices.enter(
            _QUOTA_EVENTS[after],
            "the plan stores and recalls again"
            if is_back
            else "the plan is used up; recalls come back empty and writes wait",
        )
        if is_back and self.writes is not None:
            self.writes.quota_returned()
