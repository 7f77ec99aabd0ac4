"""What each kind of fault does to an exchange."""

import math
from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from random import Random
from typing import Final

from starlette.responses import Response

from memotel.devserver.errors import ApiError, Code, error_of_status, over_quota
from memotel.devserver.exchange import Answer, Exchange, of_response
from memotel.devserver.faults import Fault, FaultKind, RetryAfter

CHUNK_BYTES: Final = 64 * 1024
_PASSING: Final = frozenset({FaultKind.DELAY, FaultKind.SILENT_QUOTA})
# These send the request's own answer, which stores a write in any case.
_ANSWERING: Final = frozenset({FaultKind.DRIP, FaultKind.RESET_BODY})


async def strike(exchange: Exchange, faults: Iterable[Fault], random: Random) -> None:
    """Answer an exchange as these faults want it: all delays, then the first that ends it."""
    faults = tuple(faults)
    delays = [delay_s(fault, random) for fault in faults if fault.kind is FaultKind.DELAY]
    if delays and not await exchange.pause(sum(delays)):
        # Reset or stopped: the connection is being aborted, and nothing may be answered before.
        await exchange.wire.gone()
        return
    if any(fault.kind is FaultKind.SILENT_QUOTA for fault in faults):
        exchange.scope["state"]["silent_quota"] = True
    for fault in faults:
        if fault.kind not in _PASSING:
            if fault.stored and fault.kind not in _ANSWERING:
                await exchange.answer()
            await _ENDS[FaultKind(fault.kind)](exchange, fault)
            return
    await exchange.respond(await exchange.answer())


def delay_s(fault: Fault, random: Random) -> float:
    """Return this request's delay: fixed, or lognormal about the median."""
    if not fault.sigma:
        return fault.delay_s
    return fault.delay_s * math.exp(random.gauss(0.0, fault.sigma))


async def _hang(exchange: Exchange, fault: Fault) -> None:
    await exchange.wire.gone()


async def _reset_body(exchange: Exchange, fault: Fault) -> None:
    answer = await exchange.answer()
    await exchange.begin(answer)
    await exchange.part(answer.body[: len(answer.body) // 2])
    await _reset(exchange, fault)


async def _reset(exchange: Exchange, fault: Fault) -> None:
    if fault.clean:
        await exchange.wire.close()
    else:
        await exchange.wire.reset()


async def _drip(exchange: Exchange, fault: Fault) -> None:
    answer = await exchange.answer()
    if fault.head:
        await _drip_raw(exchange, fault, answer)
        return
    await exchange.begin(answer)
    for byte in answer.body:
        if await exchange.wire.gone(fault.interval_s):
            return
        await exchange.part(bytes((byte,)))
    await exchange.part(b"", is_last=True)


async def _drip_raw(exchange: Exchange, fault: Fault, answer: Answer) -> None:
    """Drip status line, headers and body; the connection cannot be used again."""
    exchange.arrival.status = answer.status
    for byte in _raw(answer, exchange.request_id):
        if await exchange.wire.gone(fault.interval_s):
            return
        exchange.wire.write(bytes((byte,)))
    await exchange.wire.close()


def _raw(answer: Answer, request_id: str) -> bytes:
    headers = (*answer.headers, (b"x-request-id", request_id.encode()), (b"connection", b"close"))
    lines = [b"HTTP/1.1 %d %s" % (answer.status, HTTPStatus(answer.status).phrase.encode())]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", answer.body])


async def _status(exchange: Exchange, fault: Fault) -> None:
    told_as = RetryAfter(fault.retry_after_as)
    error = error_of_status(fault.status, fault.retry_after_s, told_as)
    await exchange.respond(exchange.error(error))


async def _malformed(exchange: Exchange, fault: Fault) -> None:
    await exchange.respond(_json(fault.body.encode()))


async def _huge(exchange: Exchange, fault: Fault) -> None:
    before, after = b'{"memories": [], "padding": "', b'"}'
    padding = b"x" * max(0, fault.size_bytes - len(before) - len(after))
    answer = _json(before + padding + after)
    await exchange.begin(answer)
    for start in range(0, len(answer.body), CHUNK_BYTES):
        await exchange.part(answer.body[start : start + CHUNK_BYTES])
    await exchange.part(b"", is_last=True)


def _json(body: bytes) -> Answer:
    return of_response(Response(body, media_type="application/json"))


async def _strict_quota(exchange: Exchange, fault: Fault) -> None:
    await exchange.respond(exchange.error(over_quota(exchange.service)))


async def _rate_limit(exchange: Exchange, fault: Fault) -> None:
    after_s = 1.0 if fault.retry_after_s is None else fault.retry_after_s
    told_as = RetryAfter(fault.retry_after_as)
    error = ApiError(429, Code.RATE_LIMITED, "Rate limit exceeded.", after_s, told_as)
    await exchange.respond(exchange.error(error))


_ENDS: Final[dict[FaultKind, Callable[[Exchange, Fault], Awaitable[None]]]] = {
    FaultKind.DRIP: _drip,
    FaultKind.HANG: _hang,
    FaultKind.SILENT: _hang,
    FaultKind.REFUSE: _reset,
    FaultKind.RESET: _reset,
    FaultKind.RESET_BODY: _reset_body,
    FaultKind.STATUS: _status,
    FaultKind.MALFORMED: _malformed,
    FaultKind.HUGE: _huge,
    FaultKind.STRICT_QUOTA: _strict_quota,
    FaultKind.RATE_LIMIT: _rate_limit,
}
