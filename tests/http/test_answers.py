"""Reading an answer: the plain way agrees with h11 on everything that it reads, and leaves the rest to it."""

import asyncio
from itertools import pairwise

import h11
import httpcore
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memotel.errors import ResponseFormatError
from memotel.http import answers
from memotel.http.answers import (
    MAX_HEAD_BYTES,
    MAX_PIECES,
    PARTS_AT_ONCE,
    PlainHead,
    Shape,
    plain_head,
    read_answer,
)
from memotel.http.bodies import Bound
from memotel.http.messages import HttpResponse

BOUND = Bound(10_000, "memory.test")
BODY = b'{"context": "tea"}'
PLAIN = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 18\r\n\r\n" + BODY


class Pieces(httpcore.AsyncNetworkStream):
    """A connection on which these pieces come, and then the end."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = list(pieces)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def read(*pieces: bytes) -> tuple[HttpResponse, bool]:
    return asyncio.run(read_answer(Pieces(list(pieces)), BOUND))


def by_h11(data: bytes) -> tuple[int, dict[str, str], bytes, bool]:
    """Read an answer with h11 alone: status, headers, body, and whether the connection may be used again."""
    http = h11.Connection(h11.CLIENT)
    http.send(h11.Request(method="POST", target="/", headers=[("host", "memory.test")]))
    http.send(h11.EndOfMessage())
    http.receive_data(data)
    head, body = None, b""
    while (event := http.next_event()) is not h11.PAUSED:
        if event is h11.NEED_DATA:
            http.receive_data(b"")
        elif isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            break
    assert head is not None
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    stays = http.their_state is h11.DONE and not http.trailing_data[0]
    return head.status_code, headers, body, stays


ODD = {
    "chunked": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "interim": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "old": b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
    "until the end": b"HTTP/1.1 200 OK\r\n\r\nok",
    "folded": b"HTTP/1.1 200 OK\r\nx-note: a\r\n b\r\ncontent-length: 2\r\n\r\nok",
    "length twice": b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok",
    "length and chunks": (
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n"
        b"2\r\nok\r\n0\r\n\r\n"
    ),
    "bare newlines": b"HTTP/1.1 200 OK\ncontent-length: 2\n\nok",
    "connection twice": (
        b"HTTP/1.1 200 OK\r\nconnection: close\r\nconnection: keep-alive\r\n"
        b"content-length: 2\r\n\r\nok"
    ),
}

BROKEN = {
    "nothing": b"",
    "not HTTP": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "half a head": b"HTTP/1.1 200 OK\r\ncontent-le",
    "half a body": b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nhalf",
    "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nokk",
    "length in words": b"HTTP/1.1 200 OK\r\ncontent-length: two\r\n\r\nok",
    "signed length": b"HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nok",
    "name with a blank": b"HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\nok",
    "null in a value": b"HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 2\r\n\r\nok",
    "head without end": b"HTTP/1.1 200 OK\r\n" + b"x-many: tea\r\n" * 10_000,
}


def test_plain_answer_is_read_without_h11_and_leaves_the_connection_usable() -> None:
    assert isinstance(plain_head(PLAIN), PlainHead)
    response, stays = read(PLAIN)
    assert (response.status, response.body, stays) == (200, BODY, True)
    assert response.headers == {"content-type": "application/json", "content-length": "18"}


@pytest.mark.parametrize("name", ODD)
def test_unusual_answer_is_left_to_h11(name: str) -> None:
    assert plain_head(ODD[name]) is Shape.ODD
    response, stays = read(ODD[name])
    status, headers, body, can_go_on = by_h11(ODD[name])
    assert (response.status, dict(response.headers), response.body) == (status, headers, body)
    assert stays == can_go_on


@pytest.mark.parametrize("name", ODD)
def test_unusual_answer_reads_the_same_byte_by_byte(name: str) -> None:
    whole = read(ODD[name])
    assert read(*(bytes([byte]) for byte in ODD[name])) == whole


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_answer_is_a_protocol_error(name: str) -> None:
    with pytest.raises(httpcore.RemoteProtocolError):
        read(BROKEN[name])


def test_bytes_behind_a_plain_answer_end_the_connection() -> None:
    assert read(PLAIN + b"HTTP/1.1 200 OK\r\n")[1] is False
    assert read(PLAIN[:-2], PLAIN[-2:] + b"x")[1] is False


def test_peer_that_will_close_is_believed() -> None:
    closing = PLAIN.replace(b"\r\ncontent-length", b"\r\nConnection: Close\r\ncontent-length")
    assert isinstance(plain_head(closing), PlainHead)
    assert read(closing)[1] is False


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 10001\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n13880\r\n" + b"x" * 80_000,
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_answer_that_is_too_large_or_compressed_is_refused(data: bytes) -> None:
    with pytest.raises(ResponseFormatError):
        read(data)


def test_answer_that_drips_reads_the_same() -> None:
    assert read(*(bytes([byte]) for byte in PLAIN)) == read(PLAIN)


def test_head_that_drips_is_not_searched_again_for_each_byte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []

    def counting(data: bytes) -> PlainHead | Shape:
        looked.append(len(data))
        return plain_head(data)

    monkeypatch.setattr(answers, "plain_head", counting)
    long = PLAIN.replace(
        b"\r\ncontent-length", b"\r\nx-long: " + b"x" * 5_000 + b"\r\ncontent-length"
    )
    assert read(*(bytes([byte]) for byte in long))[0].body == BODY
    assert len(looked) == MAX_PIECES


def test_head_that_never_ends_is_not_waited_for() -> None:
    assert plain_head(b"HTTP/1.1 200 OK\r\n" + b"x" * MAX_HEAD_BYTES) is Shape.ODD


@pytest.mark.parametrize(
    "begin", [b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, b""], ids=["interim answers", "chunks"]
)
def test_answer_in_ever_so_many_parts_leaves_the_loop_to_others(begin: bytes) -> None:
    chunks = b"1\r\nx\r\n" * (10 if begin else 1000)
    answer = (
        begin + b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    )

    async def rounds() -> int:
        reading = asyncio.ensure_future(read_answer(Pieces([answer]), BOUND))
        count = 0
        while not reading.done():
            count += 1
            await asyncio.sleep(0)
        assert (await reading)[0].status == 200
        return count

    assert asyncio.run(rounds()) >= 1000 // PARTS_AT_ONCE


NAMES = st.sampled_from(
    [
        "Content-Length",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "X-Request-ID",
        "x y",
        "",
    ]
)
VALUES = st.sampled_from(
    [
        "0",
        "2",
        "5",
        "05",
        "2, 2",
        "-1",
        "chunked",
        "close",
        "keep-alive",
        "Keep-Alive, Upgrade",
        "a\tb",
    ]
) | st.text(max_size=8)
FIELDS = st.lists(st.tuples(NAMES, st.sampled_from([": ", ":", " : ", ":\t"]), VALUES), max_size=4)
FIRSTS = st.sampled_from(
    [
        "HTTP/1.1 200 OK",
        "HTTP/1.1 404 ",
        "HTTP/1.1 500",
        "HTTP/1.0 200 OK",
        "HTTP/1.1 204 No",
        "HTTP/1.1  200 OK",
    ]
)


@given(
    first=FIRSTS,
    fields=FIELDS,
    ending=st.sampled_from(["\r\n", "\n"]),
    body=st.binary(max_size=8),
    cuts=st.lists(st.integers(0, 90), max_size=3),
)
@example("HTTP/1.1 200 OK", [("Content-Length", ": ", "2")], "\r\n", b"ok", [15, 17])
@example("HTTP/1.1 200 OK", [("Content-Length", ": ", "2")], "\r\n", b"okx", [])
def test_plain_way_agrees_with_h11(
    first: str, fields: list[tuple[str, str, str]], ending: str, body: bytes, cuts: list[int]
) -> None:
    lines = [first, *(name + colon + value for name, colon, value in fields), "", ""]
    data = ending.join(lines).encode("utf-8", "surrogatepass") + body
    at = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    pieces = [data[a:b] for a, b in pairwise(at)]
    try:
        status, headers, expected, can_go_on = by_h11(data)
    except h11.RemoteProtocolError:
        with pytest.raises(httpcore.RemoteProtocolError):
            read(*pieces)
        return
    response, stays = read(*pieces)
    assert (response.status, response.body) == (status, expected)
    assert dict(response.headers) == headers
    assert stays <= can_go_on
