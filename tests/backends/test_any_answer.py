"""Whatever a service answers, a codec gives a value, a `ServiceError` or a `ResponseFormatError`."""

import json
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memotel.backends import MemorySyncBackend, RekallBackend, jsontext
from memotel.backends.pace import read_pace
from memotel.backends.retry_after import MAX_WAIT_S
from memotel.errors import AuthenticationError, MemotelError, ResponseFormatError, ServiceError
from memotel.http.messages import HttpResponse
from memotel.values import Memories, WriteAnswer

Read = Callable[[HttpResponse], Memories | WriteAnswer | str]

REKALL = RekallBackend(clock=lambda: 1_700_000_000.0)
MEMORYSYNC = MemorySyncBackend(clock=lambda: 1_700_000_000.0)
READERS: dict[str, Read] = {
    "rekall recall": REKALL.read_recall,
    "rekall write": REKALL.read_write,
    "memorysync tenant": MEMORYSYNC.read_tenant,
    "memorysync recall": MEMORYSYNC.read_recall,
    "memorysync search": MEMORYSYNC.read_search,
    "memorysync write": MEMORYSYNC.read_write,
    "memorysync save": MEMORYSYNC.read_save,
}

WORDS = st.sampled_from(
    [
        "data",
        "results",
        "memories",
        "id",
        "content",
        "metadata",
        "score",
        "relevance",
        "similarity",
        "context",
        "memory_id",
        "value",
        "text",
        "raw_text",
        "status",
        "processing_status",
        "already_exists",
        "request_id",
        "error",
        "detail",
        "code",
        "message",
        "retry_after",
        "details",
        "user_id",
        "tenant_id",
        "reason",
        "msg",
        "ok",
        "skipped",
        "processing",
        "distilling",
        "failed",
        "completed",
        "skipped_replay",
        "limit_exceeded",
        "MONTHLY_QUOTA",
        "rate_limit_exceeded",
    ]
)
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=())) | WORDS
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(WORDS | ANY_TEXT, children, max_size=6)
    ),
    max_leaves=20,
)
FIELDS = st.none() | st.booleans() | st.floats() | st.floats(0, 1) | st.integers() | ANY_TEXT | JSON
ITEMS = st.lists(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            (
                "id",
                "memory_id",
                "content",
                "value",
                "text",
                "raw_text",
                "score",
                "relevance",
                "similarity",
                "metadata",
            ),
            FIELDS,
        ),
    ),
    max_size=4,
)
DOCUMENTED = st.one_of(
    ITEMS,
    ITEMS.map(lambda items: {"data": items}),
    st.fixed_dictionaries({"memories": ITEMS}, optional={"context": ANY_TEXT | FIELDS}),
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ("id", "memory_id", "status", "processing_status", "already_exists"), FIELDS | WORDS
        ),
    ),
)
ODD_BODIES = st.sampled_from(
    [
        b"",
        b"\xff\xfe[\x00]\x00",
        b"\xef\xbb\xbf[]",
        b"[" * 100_000,
        b'{"data":' * 90 + b"[]" + b"}" * 90,
        b"[" * 3_000 + b"]" * 3_000,
        b'{"a":' * 3_000 + b"1" + b"}" * 3_000,
        b'{"memories":[{"value":"x","score":1e999},{"value":"\\ud83d"}]}',
        b'{"id":' + b"9" * 5_000 + b"}",
        b'{"id":1,"id":2,"status":"ok","status":"skipped"}',
        b'"\\' * 2_000,
        b"NaN",
        b"[-Infinity]",
    ]
)
BODIES = (
    (JSON | DOCUMENTED).map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=200)
    | ODD_BODIES
)
HEADERS = st.dictionaries(
    st.sampled_from(
        [
            "x-request-id",
            "retry-after",
            "date",
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
            "x-ratelimit-policy",
        ]
    ),
    ANY_TEXT
    | st.floats().map(str)
    | st.integers().map(str)
    | st.datetimes().map(lambda at: at.strftime("%a, %d %b %Y %H:%M:%S GMT"))
    | st.sampled_from(
        ["1000;w=60", "Wed, 99 Foo 99999 25:61:61 +9999", "-1", "1e400", "nan", ", "]
    ),
)
STATUSES = st.sampled_from([200, 201]) | st.integers(100, 599)


def read(reader: Read, response: HttpResponse) -> object:
    """Return what the answer reads as, or the error if it is one of the two documented kinds."""
    try:
        return reader(response)
    except (ServiceError, ResponseFormatError) as error:
        return error


@pytest.mark.parametrize("name", READERS)
@given(body=BODIES, status=STATUSES, headers=HEADERS)
@example(b'{"memories":[{"value":"\\ud800","memory_id":"\\udfff","score":NaN}]}', 200, {})
@example(b'{"error":{"code":"\\ud800","retry_after":1e308,"request_id":"a b"}}', 429, {})
@example(b"{}", 503, {"retry-after": "Fri, 31 Dec 9999 23:59:59 -2359"})
@example(b"{}", 503, {"retry-after": "Mon, 01 Jan 0001 00:00:00 +2359"})
def test_any_answer_reads_or_is_one_of_two_errors(
    name: str, body: bytes, status: int, headers: dict[str, str]
) -> None:
    value = read(READERS[name], HttpResponse(status, headers, body))
    match value:
        case Memories():
            assert_memories_are_sound(value)
        case WriteAnswer():
            assert value.record_id is None or value.record_id.encode()
            assert json.loads(jsontext.dumps(value.record)) == value.record
        case MemotelError():
            assert_error_is_sound(value, status)
        case str():
            assert value.encode()
        case _:
            pytest.fail(f"{type(value)} is no answer")


def assert_error_is_sound(error: MemotelError, status: int) -> None:
    assert str(error).isprintable()
    assert str(error).isascii()
    if isinstance(error, ServiceError):
        assert error.status_code == status
        assert error.retry_after_s is None or 0 <= error.retry_after_s <= MAX_WAIT_S
    else:
        assert 200 <= status <= 299


def assert_memories_are_sound(memories: Memories) -> None:
    assert memories.context.encode() is not None
    for memory in memories.items:
        assert memory.text.encode()
        assert memory.text.strip()
        assert memory.id is None or memory.id.encode()
        assert memory.score is None or (type(memory.score) is float and 0 <= memory.score <= 1)
        assert json.loads(jsontext.dumps(memory.record)) == memory.record


@given(headers=HEADERS)
def test_any_pace_header_reads_or_tells_nothing(headers: dict[str, str]) -> None:
    pace = read_pace(HttpResponse(200, headers))
    numbers = [] if pace is None else [pace.limit, pace.remaining, pace.reset_at_s, pace.window_s]
    assert all(number is None or number >= 0 for number in numbers)
    assert pace is None or any(number is not None for number in numbers)


@given(body=BODIES, status=st.sampled_from([401, 403]))
def test_any_refusal_of_the_tenant_is_an_authentication_error_or_a_quota(
    body: bytes, status: int
) -> None:
    with pytest.raises(ServiceError) as caught:
        MEMORYSYNC.read_tenant(HttpResponse(status, {}, body))
    is_quota = "quota" in (caught.value.code or "").lower() or caught.value.code == "limit_exceeded"
    assert isinstance(caught.value, AuthenticationError) is not is_quota


SECRET = st.text(st.characters(codec="utf-8", categories=("L", "Nd")), min_size=1).map("ζ".__add__)


@pytest.mark.parametrize("name", READERS)
@given(secret=SECRET, status=STATUSES, outer=WORDS, inner=WORDS, is_cut=st.booleans())
def test_no_error_quotes_the_body(
    name: str, secret: str, status: int, outer: str, inner: str, is_cut: bool
) -> None:
    body = json.dumps({outer: {inner: secret, "message": secret}, "detail": secret}).encode()
    value = read(READERS[name], HttpResponse(status, {}, body[:-1] if is_cut else body))
    if isinstance(value, MemotelError):
        assert "ζ" not in f"{value!r} {vars(value)}"
