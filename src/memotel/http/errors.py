"""Failures of the HTTP libraries to `MemotelError`s: one table, by class name.

httpx, httpcore and their maintained forks name their exceptions alike, so one table serves all four, and aiohttp's
few names stand beside them. What was sent and what had come back is never read off a class (httpx-aiohttp calls a
connection lost after sending a `ConnectTimeout`) but off the exchange, which saw the bytes. Messages of protocol
errors are never passed on: they quote headers, and answers.
"""

from dataclasses import dataclass
from enum import Enum

from memotel.errors import (
    BudgetExceededError,
    ConfigurationError,
    MemotelError,
    ResponseFormatError,
    TransportError,
)
from memotel.http.exchange import Exchange
from memotel.http.network import EARLY_S, reason_of

LIBRARIES = frozenset({"httpx", "httpcore", "httpx2", "httpcore2", "aiohttp"})


class Kind(Enum):
    """What a failure comes down to."""

    TIMEOUT = "the answer did not come in time"
    CONNECT = "no connection"
    LOST = "the connection was lost"
    PROTOCOL = "the peer did not speak HTTP as it should"
    PROXY = "the proxy refused"
    REQUEST = (
        "the request could not be written as HTTP; look for line breaks in the API key and headers="
    )
    MISUSE = "the transport could not handle the request"


@dataclass(frozen=True, slots=True)
class Rule:
    """What one exception class means, and whether its own message may be shown."""

    kind: Kind
    is_quotable: bool = False


TABLE: dict[str, Rule] = {
    "TimeoutException": Rule(Kind.TIMEOUT),
    "ConnectTimeout": Rule(Kind.TIMEOUT),
    "ReadTimeout": Rule(Kind.TIMEOUT),
    "WriteTimeout": Rule(Kind.TIMEOUT),
    "PoolTimeout": Rule(Kind.TIMEOUT),
    "NetworkError": Rule(Kind.LOST, is_quotable=True),
    "ConnectError": Rule(Kind.CONNECT, is_quotable=True),
    "ReadError": Rule(Kind.LOST, is_quotable=True),
    "WriteError": Rule(Kind.LOST, is_quotable=True),
    "CloseError": Rule(Kind.LOST, is_quotable=True),
    "ProxyError": Rule(Kind.PROXY, is_quotable=True),
    "ProtocolError": Rule(Kind.PROTOCOL),
    "RemoteProtocolError": Rule(Kind.PROTOCOL),
    "LocalProtocolError": Rule(Kind.REQUEST),
    "UnsupportedProtocol": Rule(Kind.MISUSE),
    "ConnectionNotAvailable": Rule(Kind.LOST),
    "TransportError": Rule(Kind.LOST),
    "DecodingError": Rule(Kind.PROTOCOL),
    "TooManyRedirects": Rule(Kind.MISUSE),
    "HTTPStatusError": Rule(Kind.MISUSE),
    "RequestError": Rule(Kind.MISUSE),
    "HTTPError": Rule(Kind.MISUSE),
    "InvalidURL": Rule(Kind.REQUEST),
    "CookieConflict": Rule(Kind.MISUSE),
    "StreamError": Rule(Kind.MISUSE),
    "StreamConsumed": Rule(Kind.MISUSE),
    "StreamClosed": Rule(Kind.MISUSE),
    "ResponseNotRead": Rule(Kind.MISUSE),
    "RequestNotRead": Rule(Kind.MISUSE),
    # aiohttp
    "ServerTimeoutError": Rule(Kind.TIMEOUT),
    "ClientConnectorError": Rule(Kind.CONNECT, is_quotable=True),
    "ClientConnectorCertificateError": Rule(Kind.CONNECT, is_quotable=True),
    "ClientConnectionError": Rule(Kind.LOST),
    "ClientPayloadError": Rule(Kind.LOST),
    "ClientResponseError": Rule(Kind.PROTOCOL),
    "ClientError": Rule(Kind.MISUSE),
}

ERROR_TYPES = {Kind.TIMEOUT: "timeout", Kind.PROTOCOL: "protocol_error"}


def rule_for(error: BaseException) -> Rule | None:
    """Return the rule of the nearest class of an HTTP library that `error` is, or None if it is none of theirs."""
    for cls in type(error).__mro__:
        if cls.__module__.partition(".")[0] in LIBRARIES and cls.__name__ in TABLE:
            return TABLE[cls.__name__]
    return None


def memotel_error(error: Exception, exchange: Exchange, where: str) -> MemotelError | None:
    """Return what `error` means for the caller, or None where it is no failure of an HTTP library.

    `where` names the service in messages (host and port). Raise the result outside of the handler: the original
    may quote a header or an answer, and must not travel along as its context.
    """
    rule = rule_for(error)
    if rule is None:
        return None
    if exchange.is_flooded:
        return too_large(where)
    if rule.kind is Kind.TIMEOUT and exchange.deadline.remaining_s() < EARLY_S:
        return BudgetExceededError(
            f"no answer from {where} in time ({exchange.progress.phase})",
            phase=exchange.progress.phase,
        )
    if rule.kind is Kind.REQUEST:
        return ConfigurationError(f"{where}: {rule.kind.value}")
    reason = _reason_of(error) if rule.is_quotable else ""
    return TransportError(
        f"{where}: {rule.kind.value}" + (f": {reason}" if reason else ""),
        is_unsent=not exchange.is_sent,
        has_response=exchange.has_response,
        error_type=ERROR_TYPES.get(rule.kind, "connect_error"),
    )


def too_large(where: str) -> ResponseFormatError:
    """Return the error for an answer above the bound."""
    return ResponseFormatError(f"{where}: the answer is larger than max_response_bytes allows")


def _reason_of(error: Exception) -> str:
    """Return why, in the system's own words where aiohttp kept them apart."""
    for name in ("certificate_error", "os_error"):
        inner = getattr(error, name, None)
        if isinstance(inner, OSError):
            return reason_of(inner)
    return str(error)


def failure_of(error: BaseException, where: str) -> BaseException:
    """Return what a transport that is not ours raised, in terms of the table.

    Of what httpx-aiohttp made of aiohttp's error, aiohttp's error is taken. A class that is none of the table's
    becomes a `TransportError` that names it and quotes nothing.
    """
    cause = error.__cause__
    if cause is not None and rule_for(cause) is not None and _library_of(cause) == "aiohttp":
        return cause
    if isinstance(error, MemotelError) or rule_for(error) is not None:
        return error
    return TransportError(f"{where}: the transport failed with {type(error).__name__}")


def _library_of(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]
