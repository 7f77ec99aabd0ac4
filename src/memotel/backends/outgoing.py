"""Checks what goes out under a name or as a header: ids must arrive exactly as they are."""

import re
from typing import Final

from memotel.errors import ConfigurationError, InvalidRequestError
from memotel.values import Scope

_HEADER_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


def header_value(name: str, value: str) -> str:
    """Return a value that a header carries unchanged.

    Raises:
        ConfigurationError: it is empty, not printable ASCII, or begins or ends with a space. A server
            would read another value: for a user id, another user's memory. It is not shown.
    """
    if not _HEADER_VALUE.fullmatch(value):
        raise ConfigurationError(
            f"{name} must be printable ASCII without spaces around it to be sent as a header"
        )
    return value


def user_of(scope: Scope) -> str:
    """Return the user id.

    Raises:
        InvalidRequestError: it has no UTF-8 form (half a surrogate pair), so it would arrive as another's.
    """
    try:
        scope.user_id.encode()
    except UnicodeEncodeError:
        raise InvalidRequestError("user_id must be valid Unicode text", status_code=0) from None
    return scope.user_id


def user_header(scope: Scope) -> str:
    """Return the user id as a header carries it unchanged.

    Raises:
        InvalidRequestError: it is empty, not printable ASCII, or has spaces around it; it is not shown.
    """
    try:
        return header_value("user_id", user_of(scope))
    except ConfigurationError as error:
        raise InvalidRequestError(str(error), status_code=0) from None
