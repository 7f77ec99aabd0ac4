"""No write is sent that somebody has removed from the outbox in the meantime."""

from collections.abc import Callable
from typing import cast

from memotel.calls import Call
from memotel.outcomes import WriteOutcome
from memotel.values import Write, WriteAnswer
from memotel.writes.drain import Send
from memotel.writes.ledger import Ledger
from memotel.writes.outbox import Entry, Outbox, WithdrawnError


def unless_withdrawn(
    send: Send, ledger: Ledger, outbox: Outbox, end: Callable[[Entry, WriteOutcome, str], object]
) -> Send:
    """Return `send` behind a look at a shared outbox: what is gone there ends `dropped`, and is not sent."""
    if not outbox.survives_exit:
        return send

    async def send_what_is_there(call: Call) -> WriteAnswer:
        for entry in ledger.withdrawn():
            end(entry, WriteOutcome.DROPPED, "purged")
        if outbox.is_withdrawn(cast("Write", call.request)):
            raise WithdrawnError
        return await send(call)

    return send_what_is_there
