"""Reads single values out of a decoded answer: what is not as documented is absent, never an error."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from memotel.backends import jsontext
from memotel.errors import ResponseFormatError
from memotel.http.messages import HttpResponse
from memotel.outcomes import Provider
from memotel.values import Json, Memory

SERVICE_NAMES: Final = {Provider.MEMORYSYNC: "MemorySync", Provider.REKALL: "Rekall"}

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/+=@-]{0,127}")


def body_of(response: HttpResponse, provider: Provider) -> Json:
    """Return the decoded body of an answer.

    Raises:
        ResponseFormatError: the body is not JSON.
    """
    try:
        return jsontext.loads(response.body)
    except jsontext.NotJsonError:
        raise unexpected(response, provider, "a body that is not JSON") from None


def unexpected(response: HttpResponse, provider: Provider, what: str) -> ResponseFormatError:
    """Return the error for a success that holds `what`; the message never quotes the body."""
    request_id = request_id_of(response)
    suffix = f", request {request_id}" if request_id else ""
    return ResponseFormatError(
        f"{SERVICE_NAMES[provider]} answered {response.status}{suffix} with {what}; "
        "check that the URL is the service's",
        request_id=request_id,
    )


def request_id_of(response: HttpResponse) -> str | None:
    """Return the service's id of the request, if it looks like one."""
    return request_id(response.request_id)


def request_id(value: object) -> str | None:
    """Return the value if it can be a request id: up to 128 printable characters without spaces."""
    return value if isinstance(value, str) and _REQUEST_ID.fullmatch(value) else None


def mapping_of(value: Json) -> Mapping[str, Json]:
    """Return an object as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def id_of(value: Json) -> str | None:
    """Return a record's id as text: a text that is not empty, or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def first_text(record: Mapping[str, Json], names: Sequence[str]) -> str | None:
    """Return the first of the named fields that is a text with something in it."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value and not value.isspace():
            return value
    return None


def first_score(record: Mapping[str, Json], names: Sequence[str]) -> float | None:
    """Return the first of the named fields that is a number from 0 to 1."""
    for name in names:
        value = record.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
    return None


def memories_of(
    items: Sequence[Json], *, ids: str, texts: Sequence[str], scores: Sequence[str]
) -> tuple[Memory, ...]:
    """Return the items that hold a text, in the service's order; the arguments name the fields."""
    return tuple(
        Memory(
            id=id_of(item.get(ids)),
            text=text,
            score=first_score(item, scores),
            metadata=mapping_of(item.get("metadata")),
            record=item,
        )
        for item in items
        if isinstance(item, dict) and (text := first_text(item, texts)) is not None
    )
