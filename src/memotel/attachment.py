"""A client's hold on the runtime of one process: its account, its stacks and its write path; a fork makes it stale."""

from dataclasses import dataclass
from functools import partial
from typing import cast

from memotel import runtime
from memotel.account import Account
from memotel.calls import Handler, Identity
from memotel.config import ClientSettings
from memotel.middleware.telemetry import current_traceparent, record_unsent_end
from memotel.places import place_of
from memotel.stack import recall_stack, sender, write_stack
from memotel.telemetry.instruments import declare_client
from memotel.writes.drain import Gates
from memotel.writes.drain import Send as DeliverySend
from memotel.writes.outbox import Outbox
from memotel.writes.path import WritePath
from memotel.writes.redaction import Redaction

try:  # here rather than where it is used: a child that is forked amid an import waits for it for ever
    from memotel.writes.disk.outboxes import outbox_on_disk
except ImportError:  # Python was built without SQLite: `place_of` refuses such an outbox
    pass


@dataclass(frozen=True, slots=True)
class Attachment:
    """A client's hold on the runtime of one process; a fork makes it stale."""

    runtime: runtime.Runtime
    account: Account
    writes: WritePath
    handler: Handler
    redaction: Redaction

    def release(self, client: object) -> bool:
        """Let the account go where `client` was the last to use it; return whether it was."""
        with self.runtime.lock:
            self.account.clients.discard(client)
            if self.account.clients:
                return False
            self.account.release()
            return True

    async def warm(self, timeout_s: float) -> bool:
        """Make ready what a first recall would wait for; runs on the background loop."""
        identity = identity_of(self.account, self.account.settings)
        send = sender(self.account, identity, self.account.recall_http)
        return await self.account.warm(send, timeout_s)


def attach(client: object, settings: ClientSettings) -> Attachment:
    """Join `client` to its account in this process, made here where nobody else uses it yet."""
    now = runtime.current()
    with now.lock:
        _sweep(now)
        account = now.account(settings.account, lambda: Account(settings, now))
        account.adopt(settings.credential)
        identity = identity_of(account, settings)
        if account.writes is None:
            account.writes = _write_path(account, identity)
            account.writes.open()
        account.clients.add(client)
        kind = (identity, settings.recall)
        handler = account.handlers.get(kind)
        if handler is None:
            handler = account.handlers[kind] = recall_stack(account, identity, settings.recall)
    declare_client(now.counts, settings.provider, settings.adapter)
    return Attachment(
        now,
        account,
        account.writes,
        handler,
        account.writes.redaction(settings.redact),
    )


def _sweep(now: runtime.Runtime) -> None:
    """Let accounts go whose clients were dropped without `close`, once nothing of theirs is pending.

    It looks again when there are twice as many accounts, so that many living ones cost nothing.
    """
    if len(now.accounts) < now.sweep_at:
        return
    for account in list(now.accounts.values()):
        writes = account.writes
        if not account.clients and (writes is None or writes.stats().totals.pending == 0):
            account.release()
            if writes is not None:
                writes.close(0.0)
    now.sweep_at = max(runtime.SWEEP_AT, 2 * len(now.accounts))


def _write_path(account: Account, identity: Identity) -> WritePath:
    settings, now = account.settings, account.runtime
    return WritePath(
        account.key,
        account.provider,
        policy=settings.writes,
        outbox_policy=settings.outbox,
        counts=now.counts,
        loop=now.loop,
        send=cast("DeliverySend", write_stack(account, identity)),
        gates=Gates(
            recalls_in_flight=lambda: now.recalls_in_flight.count,
            may_send=account.write_wait_s,
            callers=now.callers,
        ),
        trace=current_traceparent,
        on_unsent_end=partial(record_unsent_end, account.provider),
        outbox=_outbox(account),
    )


def _outbox(account: Account) -> Outbox | None:
    """Return the outbox on disk that the settings ask for; None for one in memory."""
    place = place_of(account.settings.outbox.url)
    if place is None:
        return None
    return outbox_on_disk(account.runtime, place, account.settings)


def identity_of(account: Account, settings: ClientSettings) -> Identity:
    """Return what telemetry says of the service behind a client."""
    return Identity(
        provider=settings.provider,
        address=account.recall_http.address,
        port=account.recall_http.port,
        store_id=settings.project_id,
        write_operation=account.codec.write_operation,
        record_session_id=settings.record_session_id,
        base_url=settings.base_url,
    )
