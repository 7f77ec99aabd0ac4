"""JSON in and out: orjson where it is installed, the standard library otherwise, with the same results.

Reading is strict about shape and lenient about what services get wrong in passing: NaN, Infinity and
numbers beyond a double read as null, half a surrogate pair as U+FFFD, a byte order mark is skipped,
the last of two equal keys counts. Integers beyond 64 bits read as floats.
"""

import codecs
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Final, cast

from memotel.values import Json

_quick_loads: Callable[[bytes], object] | None
_quick_dumps: Callable[[object], bytes] | None
try:
    import orjson
except ImportError:
    _quick_loads = _quick_dumps = None
else:
    # Types that only orjson can write go the way of those that nobody can, for the same results.
    _options = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
    _quick_loads, _quick_dumps = orjson.loads, partial(orjson.dumps, option=_options)

MAX_DEPTH: Final = 100
"""An answer nested deeper is refused: no documented one comes near it."""

_LEAST_INT: Final = -(2**63)
_LARGEST_INT: Final = 2**64 - 1
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))


class NotJsonError(ValueError):
    """A text is no JSON, or nested too deeply; the error does not hold the text."""


def loads(body: bytes) -> Json:
    """Read a JSON text in UTF-8.

    Raises:
        NotJsonError: it is none, or nested deeper than `MAX_DEPTH`.
    """
    if _is_deep(body):
        raise NotJsonError("nested too deeply, or brackets that do not pair")
    if _quick_loads is not None:
        try:
            return cast(Json, _quick_loads(body))
        except ValueError:
            pass  # not what orjson reads; it may still be what we read
    return loads_plainly(body)


def loads_plainly(body: bytes) -> Json:
    """Read a JSON text as `loads` does, with the standard library; raises as `loads`."""
    try:
        value: Json = _DECODER.decode(body.removeprefix(codecs.BOM_UTF8).decode())
    except (ValueError, RecursionError):
        raise NotJsonError("no JSON text in UTF-8") from None
    return plain(value) if _SURROGATE.search(body) else value


def dumps(value: object) -> bytes:
    """Write a value as JSON in UTF-8, whatever it is; see `plain` for what has no JSON form.

    What is nested deeper than `MAX_DEPTH` may be cut.
    """
    if _quick_dumps is not None:
        try:
            return _quick_dumps(value)
        except TypeError:
            pass  # something that has no JSON form
    return dumps_plainly(value)


def dumps_plainly(value: object) -> bytes:
    """Write a value as `dumps` does, with the standard library."""
    try:
        return _ENCODER.encode(value).encode()
    except (TypeError, ValueError, RecursionError):
        return _ENCODER.encode(plain(value)).encode()


def plain(value: object, depth: int = MAX_DEPTH) -> Json:
    """Return a value's JSON form, as it would be read back.

    A number that a double does not have and what is nested deeper than `MAX_DEPTH` become None, an
    integer beyond 64 bits a float, half a surrogate pair U+FFFD, anything unknown its `str`.
    """
    if isinstance(value, str):
        return valid_text(value)
    if value is None or isinstance(value, int | float):
        return _plain_number(value)
    if isinstance(value, Mapping | list | tuple):
        return _plain_container(value, depth - 1) if depth else None
    return plain(value.value, depth) if isinstance(value, Enum) else valid_text(str(value))


def valid_text(text: str) -> str:
    """Return the text with each half of a surrogate pair replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _plain_number(value: float | None) -> Json:
    try:
        is_short = value is None or _LEAST_INT <= value <= _LARGEST_INT
        number = value if is_short else float(value or 0)
    except OverflowError:
        return None
    return number if number is None or math.isfinite(number) else None


def _plain_container(value: Mapping[object, object] | Sequence[object], depth: int) -> Json:
    if isinstance(value, Mapping):
        return {valid_text(str(key)): plain(item, depth) for key, item in value.items()}
    return [plain(item, depth) for item in value]


def _is_deep(body: bytes) -> bool:
    """Say whether a text is nested deeper than allowed, or its brackets do not pair.

    Peels off the innermost pairs of brackets, once per level: linear in the text for each level.
    """
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _STRING.sub(b"", body).translate(_BRACKETS, _NOT_BRACKETS)
    for _ in range(MAX_DEPTH):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)


def _float(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _int(text: str) -> int | float | None:
    if len(text) <= 20 and _LEAST_INT <= (number := int(text)) <= _LARGEST_INT:
        return number
    return _float(text)


def _nothing(_constant: str) -> None:
    return None


_DECODER: Final = json.JSONDecoder(
    parse_float=_float,
    parse_int=_int,
    parse_constant=_nothing,
)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
