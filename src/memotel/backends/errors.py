"""Turns an answer with an error status into the one `ServiceError` that it stands for.

| status | error |
|---|---|
| 401, 403 | `AuthenticationError` |
| 402, or another 4xx but 401 whose code names a quota | `QuotaExceededError` |
| 429 | `RateLimitedError` |
| 407, 408, 421, 425, 5xx, 1xx, 3xx (redirects are not followed) | `ServiceUnavailableError` |
| every other 4xx | `InvalidRequestError` |
"""

from types import MappingProxyType
from typing import Final

from memotel.backends.complaints import names_a_quota, read_complaint
from memotel.backends.reading import SERVICE_NAMES, body_of, request_id_of
from memotel.backends.retry_after import Clock, retry_after_s
from memotel.errors import (
    AuthenticationError,
    InvalidRequestError,
    QuotaExceededError,
    RateLimitedError,
    ServiceError,
    ServiceUnavailableError,
)
from memotel.http.messages import HttpResponse
from memotel.outcomes import Provider
from memotel.values import Json

_KINDS: Final = MappingProxyType(
    {
        401: AuthenticationError,
        402: QuotaExceededError,
        403: AuthenticationError,
        407: ServiceUnavailableError,
        408: ServiceUnavailableError,
        421: ServiceUnavailableError,
        425: ServiceUnavailableError,
        429: RateLimitedError,
    }
)
_HINTS_BY_STATUS: Final = MappingProxyType(
    {
        403: "the key may not do this; check its scopes and the project",
        404: "check the URL and the project",
        407: "the proxy asks for credentials; check the proxy setting",
        413: "the text is too long for the service",
    }
)
_HINTS: Final = MappingProxyType(
    {
        AuthenticationError: "the key or token was not accepted; check api_key",
        QuotaExceededError: "the plan is used up; wait for its next period or raise it",
        RateLimitedError: "too many requests for now; wait and try again",
        ServiceUnavailableError: "the service failed; try again later",
        InvalidRequestError: "the service will not accept this request as it is",
    }
)
_REDIRECT_HINT: Final = "redirects are not followed; set the URL to the service's final address"


def success_body(response: HttpResponse, provider: Provider, clock: Clock) -> Json:
    """Return the decoded body of a success.

    Raises:
        ServiceError: the status is not 2xx.
        ResponseFormatError: the body is not JSON.
    """
    if not 200 <= response.status <= 299:
        raise error_of(response, provider, clock)
    return body_of(response, provider)


def error_of(response: HttpResponse, provider: Provider, clock: Clock) -> ServiceError:
    """Return the error that a status other than 2xx stands for; its message quotes no body."""
    complaint = read_complaint(response.body)
    kind = kind_of(response.status, complaint.code)
    request_id = request_id_of(response) or complaint.request_id
    wait_s = retry_after_s(response, complaint.retry_after, clock)
    text = _message(response.status, provider, complaint.code, request_id)
    return kind(
        f"{text}: {_hint(kind, response.status)}",
        status_code=response.status,
        code=complaint.code,
        retry_after_s=wait_s,
        request_id=request_id,
    )


def kind_of(status: int, code: str | None) -> type[ServiceError]:
    """Return the class of error for a status and the service's code."""
    is_callers_fault = 400 <= status <= 499
    if is_callers_fault and status != 401 and names_a_quota(code):
        return QuotaExceededError
    fallback = InvalidRequestError if is_callers_fault else ServiceUnavailableError
    return _KINDS.get(status, fallback)


def _message(status: int, provider: Provider, code: str | None, request_id: str | None) -> str:
    shown_code = f" ({code})" if code else ""
    shown_id = f", request {request_id}" if request_id else ""
    return f"{SERVICE_NAMES[provider]} answered {status}{shown_code}{shown_id}"


def _hint(kind: type[ServiceError], status: int) -> str:
    if 300 <= status <= 399:
        return _REDIRECT_HINT
    is_usual = kind is not QuotaExceededError
    return _HINTS_BY_STATUS.get(status, _HINTS[kind]) if is_usual else _HINTS[kind]
