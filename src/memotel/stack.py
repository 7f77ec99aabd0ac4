"""The two orders in which a call passes through memotel. Read each from the top: the caller's side comes first.

    recall, search, save                      write delivery
      telemetry    span, metrics, outcome       telemetry    span linked to the turn's
      refusal      an open circuit, at once     quota        evidence
      bridge       to the background loop       permits      their own, few
      context      what the model is shown      credential   one line where it is rejected
      quota        is this emptiness a quota?   reread       a key that changed
      pause        key rejected, rate limited   tenant
      breaker      an outage costs little       backend      wire format
      permits      a bound on what is in flight   attempts   a span for each HTTP attempt
      retry        one, if it can help            authorized the credential
      reread       a key that changed             http       the deadline once more
      tenant       MemorySync's look-up
      backend      wire format
        attempts   a span for each HTTP attempt
        authorized the credential
        http       the deadline once more

Writes are held back by the drain (`memotel.writes`), which alone repeats them: it reads the breaker and never
opens it, and keeps its own pauses for credentials, rate and quota.
"""

from memotel.account import Account
from memotel.calls import Call, Handler, Identity, Send
from memotel.config import RecallPolicy
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.http.renewable import RenewableClient
from memotel.middleware.attempts import attempts
from memotel.middleware.backend import backend
from memotel.middleware.breaker import breaker, refusal
from memotel.middleware.bridge import bridge
from memotel.middleware.context import context
from memotel.middleware.credentials import authorized, reread
from memotel.middleware.pause import pause, watch_credential
from memotel.middleware.permits import permits
from memotel.middleware.quota import quota
from memotel.middleware.retry import retry
from memotel.middleware.telemetry import telemetry
from memotel.middleware.tenant import tenant


def recall_stack(account: Account, identity: Identity, shown: RecallPolicy) -> Handler:
    """Build the way of a recall, a search or a save; `shown` is the client's own, all else its account's."""
    settings, counts, loop = account.settings, account.runtime.counts, account.runtime.loop
    send = sender(account, identity, account.recall_http)

    handle = backend(account.codec, send)
    if account.codec.needs_tenant:
        handle = tenant(handle, account.tenant, send)
    handle = reread(handle, account.credentials, account.tenant)
    handle = retry(
        handle, policy=settings.retry, bucket=account.bucket, circuit=account.circuit, counts=counts
    )
    handle = permits(
        handle, account.permits, settings.permits.wait_share, account.runtime.recalls_in_flight
    )
    handle = breaker(handle, account.circuit, loop, account.probe_failed)
    handle = pause(
        handle,
        account.latch,
        account.recall_rate,
        notices=account.notices,
        on_accepted=account.credentials_accepted,
    )
    handle = quota(handle, account.quota, counts)
    handle = context(handle, shown, counts)
    handle = bridge(handle, loop)
    handle = refusal(handle, account.circuit)
    return telemetry(handle, identity, counts)


def write_stack(account: Account, identity: Identity) -> Handler:
    """Build the way of one write delivery; it runs on the background loop already."""
    counts = account.runtime.counts
    send = sender(account, identity, account.write_http)

    handle = backend(account.codec, send)
    if account.codec.needs_tenant:
        handle = tenant(handle, account.tenant, send)
    handle = reread(handle, account.credentials, account.tenant)
    handle = permits(handle, account.write_permits, wait_share=1.0)
    handle = watch_credential(handle, account.notices)
    handle = quota(handle, account.quota, counts)
    return telemetry(handle, identity, counts)


def sender(account: Account, identity: Identity, client: RenewableClient) -> Send:
    """Build what sends one attempt: span, credential, HTTP."""

    is_write = client is account.write_http
    callers = account.runtime.callers

    async def http(call: Call, request: HttpRequest) -> HttpResponse:
        with account.paced(is_write=is_write):
            response = await client.send(request, deadline=call.deadline, progress=call)
            account.note_pace(response)
            return response

    async def http_of_writes(call: Call, request: HttpRequest) -> HttpResponse:
        """Send in pieces, between which an accept that is under way goes first."""
        callers.go_first()
        response = await http(call, request)
        callers.go_first()
        return response

    send = authorized(http_of_writes if is_write else http, account.credentials)
    return attempts(send, identity, propagate=account.settings.network.propagate)
