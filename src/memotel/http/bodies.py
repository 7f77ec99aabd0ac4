"""From httpx's response to ours: the whole body in memory, within a bound, and the connection given back."""

import httpx

from memotel.errors import ResponseFormatError
from memotel.http.errors import too_large
from memotel.http.exchange import Exchange
from memotel.http.messages import HttpResponse

SLACK_BYTES = 64 * 1024
"""What headers and chunk framing may add to the bytes on the wire before the network stops reading."""


async def read_whole(
    response: httpx.Response, exchange: Exchange, max_bytes: int, where: str
) -> HttpResponse:
    """Read the body and close the response, which frees its connection.

    Raises `ResponseFormatError` above `max_bytes`, and for an encoding, since none was asked for (a few kilobytes of
    gzip can be gigabytes).
    """
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1")
        for name, value in response.headers.raw
    }
    try:
        _check_encoding(headers, where)
        if _declared_bytes(headers) > max_bytes:
            raise too_large(where)
        body = await _collect(response, exchange, max_bytes, where)
    finally:
        await response.stream.aclose()  # type: ignore[union-attr] # an async transport's stream is async
    return HttpResponse(response.status_code, headers, body)


async def _collect(
    response: httpx.Response, exchange: Exchange, max_bytes: int, where: str
) -> bytes:
    chunks: list[bytes] = []
    size_bytes = 0
    async for chunk in response.stream:  # type: ignore[union-attr] # as above
        chunks.append(chunk)
        size_bytes += len(chunk)
        if size_bytes > max_bytes + SLACK_BYTES:
            raise too_large(where)
        if exchange.deadline.has_passed():
            raise httpx.ReadTimeout("the deadline has passed")
    if size_bytes > max_bytes:
        raise too_large(where)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _declared_bytes(headers: dict[str, str]) -> int:
    text = headers.get("content-length", "")
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def _check_encoding(headers: dict[str, str], where: str) -> None:
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise ResponseFormatError(f"{where}: the answer is compressed, which was not asked for")
