"""Reading one answer off a connection: the plain ones at once, any other through h11.

Nearly every answer of a memory service is of one shape: a status with a body, a Content-Length, nothing unusual. It is
read here in a few steps. Whatever departs from that shape in the least (chunks, 1xx, 204, an old version, a field that
is folded, repeated or malformed) is given to h11 from its first byte on, which also says what is no HTTP at all.
"""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import ModuleType

import h11
import httpcore

from memotel.http.bodies import Bound
from memotel.http.messages import HttpResponse

READ_BYTES = 64 * 1024
MAX_HEAD_BYTES = 100 * 1024
MAX_PIECES = 16
"""A head in more pieces than these is no plain one: h11 does not look through all of it again for each."""

PARTS_AT_ONCE = 64
"""An answer in ever so many chunks, or behind ever so many 1xx, is read in these steps: others have their turn between."""

_PLAIN = re.compile(
    rb"HTTP/1\.1 [2-5][0-9]{2}(?: [^\x00-\x08\x0a-\x1f\x7f]*)?\r\n"
    rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\x00-\x08\x0a-\x1f\x7f]*\r\n)*"
)
_BLANK_LINE = re.compile(rb"\n\r?\n")
_SIZE = re.compile(r"[0-9]{1,18}")
_FRAMING = frozenset({"connection", "content-length", "transfer-encoding"})
_WITHOUT_BODY = frozenset({204, 304})

_ANY_REQUEST = h11.Request(method="POST", target="/", headers=[("host", "any")])
"""h11 reads an answer by the request's method alone, and of those POST and GET are alike."""


class Shape(Enum):
    """What the beginning of an answer is, where it is not a plain head."""

    UNFINISHED = "more must come before it can be told"
    ODD = "h11 must say"


@dataclass(frozen=True, slots=True)
class PlainHead:
    """The head of a plain answer.

    Attributes:
        status: 200 to 599.
        headers: by lower-case name.
        body_at: where in the bytes the body begins.
        body_bytes: how long it is.
        stays: whether the peer keeps the connection open.
    """

    status: int
    headers: dict[str, str]
    body_at: int
    body_bytes: int
    stays: bool


async def read_answer(
    stream: httpcore.AsyncNetworkStream, bound: Bound, core: ModuleType = httpcore
) -> tuple[HttpResponse, bool]:
    """Return an answer, whole, and whether the connection can carry another request.

    Bytes behind the answer's end are no part of any answer: what follows them cannot be trusted. Raises what `stream`
    raises, `core`'s `RemoteProtocolError` for what is no answer, and `ResponseFormatError` for one that is not taken.
    """
    data = b""
    head: PlainHead | Shape = Shape.UNFINISHED
    for _ in range(MAX_PIECES):
        more = await stream.read(READ_BYTES)
        if not more:
            raise core.RemoteProtocolError("no answer before the end")
        data += more
        head = plain_head(data)
        if head is not Shape.UNFINISHED:
            break
    if isinstance(head, Shape):
        return await _AnyAnswer(stream, bound, core).read(data)
    bound.check_head(head.headers)
    end = head.body_at + head.body_bytes
    if len(data) < end:
        return await _rest(stream, head, data[head.body_at :], core)
    body = data[head.body_at : end]
    return HttpResponse(head.status, head.headers, body), head.stays and len(data) == end


def plain_head(data: bytes) -> PlainHead | Shape:
    """Return the head of a plain answer that begins with `data`, or why there is none."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        is_open = len(data) <= MAX_HEAD_BYTES and not _BLANK_LINE.search(data)
        return Shape.UNFINISHED if is_open and _may_be_plain(data) else Shape.ODD
    if not _PLAIN.fullmatch(data, 0, end + 2):
        return Shape.ODD
    first, *lines = data[:end].decode("latin-1").split("\r\n")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name = name.lower()
        if name in headers and name in _FRAMING:
            return Shape.ODD
        headers[name] = value.strip(" \t")
    size = headers.get("content-length", "")
    status = int(first[9:12])
    if "transfer-encoding" in headers or status in _WITHOUT_BODY or not _SIZE.fullmatch(size):
        return Shape.ODD
    stays = headers.get("connection", "keep-alive").lower() == "keep-alive"
    return PlainHead(status, headers, end + 4, int(size), stays)


def _may_be_plain(data: bytes) -> bool:
    start = b"HTTP/1.1 "
    return data.startswith(start) or start.startswith(data)


async def _rest(
    stream: httpcore.AsyncNetworkStream, head: PlainHead, begun: bytes, core: ModuleType
) -> tuple[HttpResponse, bool]:
    """Read a plain body on to its end."""
    parts, missing = [begun], head.body_bytes - len(begun)
    while missing > 0:
        more = await stream.read(READ_BYTES)
        if not more:
            raise core.RemoteProtocolError("the answer ended before its length")
        parts.append(more[:missing])
        missing -= len(more)
    return HttpResponse(head.status, head.headers, b"".join(parts)), head.stays and missing == 0


class _AnyAnswer:
    """An answer of any shape, through h11."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, bound: Bound, core: ModuleType) -> None:
        self._stream = stream
        self._bound = bound
        self._core = core
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._http.send(_ANY_REQUEST)
        self._http.send(h11.EndOfMessage())
        self._parts = 0

    async def read(self, begun: bytes) -> tuple[HttpResponse, bool]:
        """Return the answer whose first bytes are `begun`, and whether the connection may be used again."""
        http = self._http
        try:
            http.receive_data(begun)
            response = await self._whole()
        except h11.RemoteProtocolError as error:
            raise self._core.RemoteProtocolError(str(error)) from error
        is_done = http.our_state is h11.DONE and http.their_state is h11.DONE
        return response, is_done and not http.trailing_data[0]

    async def _whole(self) -> HttpResponse:
        while not isinstance(head := await self._event(), h11.Response):
            pass  # 100 Continue and its like
        headers = dict(_texts(head))
        self._bound.check_head(headers)
        collected = self._bound.collect()
        while isinstance(event := await self._event(), h11.Data):
            collected.add(bytes(event.data))
        return HttpResponse(head.status_code, headers, collected.whole())

    async def _event(self) -> object:
        http = self._http
        self._parts += 1
        if self._parts % PARTS_AT_ONCE == 0:
            await asyncio.sleep(0)
        while (event := http.next_event()) is h11.NEED_DATA:
            data = await self._stream.read(READ_BYTES)
            if not data and http.their_state == h11.SEND_RESPONSE:
                raise self._core.RemoteProtocolError("no answer before the end")
            http.receive_data(data)
        return event


def _texts(head: h11.Response) -> Iterator[tuple[str, str]]:
    for name, value in head.headers:
        yield name.decode("latin-1"), value.decode("latin-1")
