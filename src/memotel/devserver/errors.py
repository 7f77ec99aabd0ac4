"""What goes wrong for a caller, and how each service writes it."""

from dataclasses import dataclass, field
from email.utils import formatdate
from enum import StrEnum
from http import HTTPStatus
from typing import Final

from starlette.responses import JSONResponse

from memotel.devserver.faults import RetryAfter
from memotel.devserver.routes import Service
from memotel.devserver.shapes import ErrorShape


class Code(StrEnum):
    """The error codes of both services that this server uses."""

    UNAUTHORIZED = "UNAUTHORIZED"
    TOKEN_EXPIRED = "TOKEN_EXPIRED"  # noqa: S105  # an error code, no password
    SCOPE_INSUFFICIENT = "SCOPE_INSUFFICIENT"
    NOT_FOUND = "NOT_FOUND"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    VALIDATION = "validation_error"
    INVALID_MEMORY_TYPE = "INVALID_MEMORY_TYPE"
    MISSING_END_USER_ID = "MISSING_END_USER_ID"
    CONFLICT = "IDEMPOTENCY_KEY_REUSED"
    RATE_LIMITED = "RATE_LIMIT_EXCEEDED"
    OVER_QUOTA = "MONTHLY_QUOTA_EXCEEDED"
    INTERNAL = "INTERNAL_ERROR"


@dataclass(frozen=True, slots=True)
class Problem:
    """One invalid field: where it is and what is wrong with it."""

    field: str
    message: str


@dataclass
class ApiError(Exception):
    """An answer that is an error. ``retry_after_s`` None: no word on when to come again."""

    status: int
    code: Code
    message: str
    retry_after_s: float | None = None
    retry_after_as: RetryAfter = RetryAfter.SECONDS
    problems: tuple[Problem, ...] = field(default=())


_CODES: Final = {
    401: Code.UNAUTHORIZED,
    402: Code.OVER_QUOTA,
    403: Code.SCOPE_INSUFFICIENT,
    404: Code.NOT_FOUND,
    405: Code.METHOD_NOT_ALLOWED,
    409: Code.CONFLICT,
    429: Code.RATE_LIMITED,
}


def error_of_status(status: int, retry_after_s: float | None, told_as: RetryAfter) -> ApiError:
    """Return an error of that status with the code that goes with it."""
    code = _CODES.get(status, Code.INTERNAL if status >= 500 else Code.VALIDATION)
    return ApiError(status, code, _phrase(status), retry_after_s, told_as)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"Status {status}"


def over_quota(service: Service) -> ApiError:
    """Return the strict quota error: 402 by Rekall, 429 with limit_exceeded by MemorySync."""
    status = 402 if service is Service.REKALL else 429
    return ApiError(status, Code.OVER_QUOTA, "The plan's allowance of this month is used up.")


@dataclass(frozen=True, slots=True)
class Style:
    """Whose errors they are, and how written. ``now`` (unix seconds) is for an HTTP date."""

    service: Service
    shape: ErrorShape
    now: float


def render(error: ApiError, style: Style, request_id: str) -> JSONResponse:
    """Write an error as the service does."""
    is_rekall = style.service is Service.REKALL
    body = _rekall(error, request_id) if is_rekall else _memorysync(error, style.shape)
    headers = {}
    if error.retry_after_s is not None and error.retry_after_as is not RetryAfter.BODY:
        headers["Retry-After"] = _retry_after(error, style.now)
    return JSONResponse(body, error.status, headers)


def _retry_after(error: ApiError, now: float) -> str:
    after_s = error.retry_after_s or 0.0
    if error.retry_after_as is RetryAfter.DATE:
        return formatdate(now + after_s, usegmt=True)
    return f"{after_s:g}"


def _rekall(error: ApiError, request_id: str) -> dict[str, object]:
    details: dict[str, object] = {problem.field: problem.message for problem in error.problems}
    if error.retry_after_s is not None:
        details["retry_after"] = error.retry_after_s
    return {
        "error": {
            "code": error.code,
            "message": error.message,
            "status": error.status,
            "details": details,
            "request_id": request_id,
        }
    }


def _memorysync(error: ApiError, shape: ErrorShape) -> dict[str, object]:
    if error.code is Code.OVER_QUOTA:
        return {"detail": {"error": "limit_exceeded", "message": error.message}}
    if error.problems:
        return {"detail": [_located(problem) for problem in error.problems]}
    if error.code is Code.MISSING_END_USER_ID:
        return {"detail": f"{error.code}: {error.message}"}
    if error.retry_after_as is RetryAfter.BODY or shape is ErrorShape.ERROR:
        return {"error": {"message": error.message, "retry_after": error.retry_after_s}}
    return {"detail": error.message}


def _located(problem: Problem) -> dict[str, object]:
    return {"type": "value_error", "loc": ["body", problem.field], "msg": problem.message}
