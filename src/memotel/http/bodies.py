"""How much of an answer is taken: a whole body in memory, within a bound, and never a compressed one."""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass

import httpx

from memotel.errors import ResponseFormatError
from memotel.http.errors import too_large
from memotel.http.exchange import Exchange
from memotel.http.messages import HttpResponse

SLACK_BYTES = 64 * 1024
"""What headers and chunk framing may add to the bytes on the wire before the network stops reading."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What is taken from one service.

    Attributes:
        max_bytes: a longer body is refused.
        where: the service's name in messages.
    """

    max_bytes: int
    where: str

    def check_head(self, headers: Mapping[str, str]) -> None:
        """Refuse an answer by its headers, whose names are in lower case.

        Raises `ResponseFormatError` for a longer body, and for an encoding, since none was asked for (a few kilobytes
        of gzip can be gigabytes).
        """
        if "content-encoding" in headers:
            encoding = headers["content-encoding"].strip().lower()
            if encoding not in ("", "identity"):
                raise ResponseFormatError(
                    f"{self.where}: the answer is compressed, which was not asked for"
                )
        if _declared_bytes(headers) > self.max_bytes:
            raise too_large(self.where)

    def collect(self) -> "Collected":
        """Return what takes a body piece by piece."""
        return Collected(self)


class Collected:
    """A body as it comes."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self._chunks: list[bytes] = []
        self._size_bytes = 0

    def add(self, chunk: bytes) -> None:
        """Take a piece; raises `ResponseFormatError` as soon as it is clear that the whole is too large."""
        self._chunks.append(chunk)
        self._size_bytes += len(chunk)
        if self._size_bytes > self._bound.max_bytes + SLACK_BYTES:
            raise too_large(self._bound.where)

    def whole(self) -> bytes:
        """Return the body; raises `ResponseFormatError` where it is too large."""
        if self._size_bytes > self._bound.max_bytes:
            raise too_large(self._bound.where)
        return self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)


async def read_whole(response: httpx.Response, exchange: Exchange, bound: Bound) -> HttpResponse:
    """Read the body of httpx's response and close it, which frees its connection.

    Raises what `Bound` raises, and `httpx.ReadTimeout` when a piece comes after the deadline.
    """
    try:
        return await read_stream(
            response.status_code,
            response.headers.raw,
            response.stream,  # type: ignore[arg-type] # an async transport's stream is async
            exchange,
            bound,
        )
    finally:
        await response.stream.aclose()  # type: ignore[union-attr] # as above


async def read_stream(  # noqa: PLR0917 # the parts of an answer, as every library names them
    status: int,
    raw_headers: Iterable[tuple[bytes, bytes]],
    stream: AsyncIterator[bytes],
    exchange: Exchange,
    bound: Bound,
) -> HttpResponse:
    """Read an answer's body; raises as `read_whole` does. Closing it is the caller's."""
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw_headers
    }
    bound.check_head(headers)
    collected = bound.collect()
    async for chunk in stream:
        collected.add(chunk)
        if exchange.deadline.has_passed():
            raise httpx.ReadTimeout("the deadline has passed")
    return HttpResponse(status, headers, collected.whole())


def _declared_bytes(headers: Mapping[str, str]) -> int:
    text = headers.get("content-length", "")
    return int(text) if text.isdecimal() and len(text) < 20 else 0
