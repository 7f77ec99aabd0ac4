"""Every error memotel raises, and the one outcome that each stands for.

    MemotelError                    .outcome .is_retryable .request_id
    |- ConfigurationError           (ValueError) a setting is wrong; raised at construction
    |- BudgetExceededError          (TimeoutError) the deadline came first
    |- CircuitOpenError             refused here: the service was failing moments ago
    |- ShedError                    refused here: too many recalls in flight
    |- OutboxFullError              a write was not accepted
    |- TransportError               no usable answer: could not connect, connection lost
    |- ResponseFormatError          a success status with a body that is not as documented
    `- ServiceError                 the service answered with an error: .status_code .code
       |- AuthenticationError       401, 403
       |- InvalidRequestError       400, 404, 409, 413, 422
       |- RateLimitedError          429
       |- QuotaExceededError        402, or a 429 whose code names the plan
       `- ServiceUnavailableError   408, 5xx

Messages hold status, code, request id and what to do; never content, keys or response bodies.
"""

from memotel.outcomes import Outcome, Phase

OWN_LOOP = "a blocking call was made from memotel's own loop, which would wait for itself"
"""What the error says of a call that could only deadlock."""


class MemotelError(Exception):
    """Base of every error memotel raises."""

    outcome: Outcome = Outcome.INTERNAL_ERROR
    is_retryable: bool = False
    error_type: str = "_OTHER"

    def __init__(self, message: str, *, request_id: str | None = None) -> None:
        super().__init__(message)
        self.request_id = request_id


class ConfigurationError(MemotelError, ValueError):
    """A setting is wrong; the message names the field, the value's shape and what is allowed."""

    outcome = Outcome.REJECTED


class BudgetExceededError(MemotelError, TimeoutError):
    """The deadline came before the answer; `phase` says where the call was."""

    outcome = Outcome.TIMEOUT
    is_retryable = True
    error_type = "timeout"

    def __init__(self, message: str, *, phase: Phase = Phase.READ) -> None:
        super().__init__(message)
        self.phase = phase


class CircuitOpenError(MemotelError):
    """Refused here, at once: the service was failing moments ago."""

    outcome = Outcome.CIRCUIT_OPEN
    is_retryable = True
    error_type = "circuit_open"


class ShedError(MemotelError):
    """Refused here: as many recalls are in flight as this account may have."""

    outcome = Outcome.SHED
    is_retryable = True


class OutboxFullError(MemotelError):
    """The outbox holds all it may; the write was not accepted."""

    outcome = Outcome.SHED
    is_retryable = True


class TransportError(MemotelError):
    """No usable answer came.

    Attributes:
        is_unsent: True where the service cannot have acted on the request (no connection was made).
        has_response: True where at least one byte of the answer had arrived.
    """

    outcome = Outcome.UNAVAILABLE
    is_retryable = True
    error_type = "connect_error"

    def __init__(
        self,
        message: str,
        *,
        is_unsent: bool = False,
        has_response: bool = False,
        error_type: str = "connect_error",
    ) -> None:
        super().__init__(message)
        self.is_unsent = is_unsent
        self.has_response = has_response
        self.error_type = error_type


class ResponseFormatError(MemotelError):
    """A success status came with a body that is not as the service documents it."""

    outcome = Outcome.UNAVAILABLE
    error_type = "protocol_error"


class ServiceError(MemotelError):
    """The service answered with an error status.

    Attributes:
        status_code: HTTP status.
        code: the service's own short code, if it sent one.
        retry_after_s: seconds the service asks us to wait, if it said so.
    """

    outcome = Outcome.UNAVAILABLE

    def __init__(
        self,
        message: str,
        *,
        status_code: int,
        code: str | None = None,
        retry_after_s: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, request_id=request_id)
        self.status_code = status_code
        self.code = code
        self.retry_after_s = retry_after_s


class AuthenticationError(ServiceError):
    """The key or token was not accepted (401), or may not do this (403)."""

    outcome = Outcome.REJECTED
    error_type = "auth"


class InvalidRequestError(ServiceError):
    """The service will never accept this request as it is (400, 404, 409, 413, 422)."""

    outcome = Outcome.REJECTED
    error_type = "invalid_request"


class RateLimitedError(ServiceError):
    """Too many requests for now (429); `retry_after_s` says for how long, if known."""

    outcome = Outcome.RATE_LIMITED
    is_retryable = True
    error_type = "rate_limited"


class QuotaExceededError(ServiceError):
    """The plan is used up, and the service says so."""

    outcome = Outcome.QUOTA
    error_type = "quota_exceeded"


class ServiceUnavailableError(ServiceError):
    """The service failed (5xx, 408)."""

    outcome = Outcome.UNAVAILABLE
    is_retryable = True
    error_type = "server_error"
