"""JSON: the same results with orjson and without, for any text and any value."""

import json
from datetime import UTC, datetime
from enum import Enum, StrEnum
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memotel.backends.jsontext import (
    MAX_DEPTH,
    NotJsonError,
    dumps,
    dumps_plainly,
    loads,
    loads_plainly,
    plain,
    valid_text,
)

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda children: st.lists(children) | st.dictionaries(ANY_TEXT, children),
    max_leaves=15,
)


class Colour(Enum):
    RED = "red"


class Word(StrEnum):
    ONE = "one"


def outcome_of(read, body: bytes) -> object:
    try:
        return repr(read(body))
    except NotJsonError:
        return NotJsonError


@given(VALUES.map(lambda value: json.dumps(value).encode()) | st.binary())
@example(b"18446744073709551615")
@example(b"18446744073709551616")
@example(b"-9223372036854775809")
@example(b"1" * 400)
@example(b"1" * 5_000)
@example(b"[1e999, -1e999, NaN, Infinity, -0, -0.0, 1e-400]")
@example(b'{"a": 1, "a": 2}')
@example(b"\xef\xbb\xbf1")
@example(b'"\\ud83d\\ude00 \\ud83d"')
@example(b'"\\ud83d"')
@example(b'"\xed\xa0\x80"')
@example(b'"\\u0000"')
@example(b'"\x01"')
@example(b"01")
def test_any_text_reads_the_same_with_and_without_orjson(body: bytes) -> None:
    assert outcome_of(loads, body) == outcome_of(loads_plainly, body)


@given(VALUES)
def test_any_value_is_written_the_same_with_and_without_orjson(value: object) -> None:
    assert loads(dumps(value)) == loads(dumps_plainly(value))


@given(VALUES)
def test_a_plain_value_survives_the_round_trip(value: object) -> None:
    assert loads(dumps(value)) == plain(value)


@pytest.mark.parametrize("read", [loads, loads_plainly])
@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"[NaN, Infinity, -Infinity, 1e999]", [None, None, None, None]),
        (b'["\\ud83d\\ude00", "\\ud83dx"]', ["\U0001f600", "\ufffdx"]),
        (b'{"\\udfff": 1}', {"\ufffd": 1}),
        (b"\xef\xbb\xbf{}", {}),
        (b"[18446744073709551616]", [18446744073709551616.0]),
        (b'{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_what_services_get_wrong_in_passing_reads_as(read, body: bytes, value: object) -> None:
    assert read(body) == value


def nested(depth: int, *, wide: int = 0) -> bytes:
    return b"[" * depth + b"[]," * wide + b"1" + b"]" * depth


@pytest.mark.parametrize("wide", [0, 500])
def test_depth_is_bounded_exactly(wide: int) -> None:
    assert loads(nested(MAX_DEPTH, wide=0))
    assert loads(nested(MAX_DEPTH - 1, wide=wide))
    with pytest.raises(NotJsonError, match="deeply"):
        loads(nested(MAX_DEPTH + 1, wide=wide))


def test_depth_beyond_the_interpreters_own_limit_is_no_other_error() -> None:
    with pytest.raises(NotJsonError):
        loads_plainly(nested(100_000))


def test_brackets_inside_texts_are_no_depth() -> None:
    text = '[[[{{{"\\' * 200
    assert loads(json.dumps([text] * 3).encode()) == [text] * 3


def test_many_brackets_side_by_side_are_no_depth() -> None:
    value = [{"a": [i]} for i in range(1_000)]
    assert loads(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "body", [b"[" * 2_000_000, b'"\\' * 1_000_000 + b"[" * 200, b"[]," * 700_000, b"[}" * 500]
)
def test_hostile_body_of_two_megabytes_is_refused(body: bytes) -> None:
    with pytest.raises(NotJsonError):
        loads(body)


@pytest.mark.parametrize("write", [dumps, dumps_plainly])
@pytest.mark.parametrize(
    ("value", "written"),
    [
        (float("nan"), None),
        (float("inf"), None),
        ("a\ud83d", "a\ufffd"),
        (2**64 - 1, 2**64 - 1),
        (2**64, 2.0**64),
        (-(2**63) - 1, -(2.0**63)),
        (2**1024, None),
        ([10**5_000], [None]),
        ((1, 2), [1, 2]),
        ({1: "x", None: "y"}, {"1": "x", "null": "y"}),
        (Colour.RED, "red"),
        (Word.ONE, "one"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime(2026, 11, 2, tzinfo=UTC), "2026-11-02 00:00:00+00:00"),
        (b"x", "b'x'"),
        (True, True),
    ],
)
def test_what_has_no_json_form_is_written_as(write, value: object, written: object) -> None:
    assert loads(write({"v": value})) == {"v": written}


def test_a_value_that_holds_itself_is_cut() -> None:
    value: list[object] = []
    value.append(value)
    assert json.loads(dumps_plainly(value))
    assert json.loads(dumps(value)) == json.loads(dumps_plainly(value))


@given(ANY_TEXT)
def test_valid_text_is_what_encoding_can_carry(text: str) -> None:
    as_others_read_it = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    is_valid = not any("\ud800" <= character <= "\udfff" for character in text)
    assert valid_text(text) == (text if is_valid else as_others_read_it)
    assert valid_text(text).encode("utf-8").decode("utf-8") == valid_text(text)
