"""What the body of an error says: the service's short code, when to come again, the request's id."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memotel.backends import jsontext
from memotel.backends.reading import mapping_of, request_id
from memotel.values import Json

_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_CODE_IN_TEXT: Final = re.compile(r"([A-Z]+(?:_[A-Z0-9]+)+)(?::|$)")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_OF_A_PLAN: Final = frozenset(
    {"month", "monthly", "plan", "memory", "memories", "usage", "subscription"}
)


@dataclass(frozen=True, slots=True)
class Complaint:
    """The parts of an error body that may be shown or acted on; none of its prose.

    Attributes:
        code: the service's code, as it wrote it: 1 to 64 of `A-Z a-z 0-9 _ . -`.
        retry_after: seconds to wait, as sent, not yet checked.
        request_id: the service's id of the request.
    """

    code: str | None = None
    retry_after: Json = None
    request_id: str | None = None


def read_complaint(body: bytes) -> Complaint:
    """Read an error body in any of the documented shapes; an unknown one says nothing."""
    try:
        value = mapping_of(jsontext.loads(body))
    except jsontext.NotJsonError:
        return Complaint()
    match value:
        case {"error": dict(error)}:
            return _of_error(error, value)
        case {"detail": dict(detail)}:
            return _complaint(detail.get("error"), detail, value)
        case {"detail": str(detail)} if code := _CODE_IN_TEXT.match(detail):
            return _complaint(code[1], value, value)
    return _complaint(value.get("error"), value, value)


def names_a_quota(code: str | None) -> bool:
    """Say whether a code means that the plan is used up, rather than that we were too fast."""
    words = {word.lower() for word in _WORD.findall(code or "")}
    if words & {"quota", "quotas"} or code == "limit_exceeded":
        return True
    return bool(words & {"limit", "limits"} and words & _OF_A_PLAN and "rate" not in words)


def _of_error(error: Mapping[str, Json], body: Mapping[str, Json]) -> Complaint:
    details = mapping_of(error.get("details"))
    return _complaint(error.get("code"), {**details, **error}, body)


def _complaint(code: Json, part: Mapping[str, Json], body: Mapping[str, Json]) -> Complaint:
    is_code = isinstance(code, str) and _CODE.fullmatch(code)
    return Complaint(
        code=str(code) if is_code else None,
        retry_after=part.get("retry_after", body.get("retry_after")),
        request_id=request_id(part.get("request_id")) or request_id(body.get("request_id")),
    )
