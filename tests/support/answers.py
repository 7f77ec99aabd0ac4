"""Answers of a service, made in one line."""

import json

from memotel.http.messages import HttpResponse


def answer(body: object = b"", status: int = 200, **headers: str) -> HttpResponse:
    """Return an answer; a body that is not bytes is written as JSON, `retry_after="1"` is a header."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HttpResponse(status, {k.replace("_", "-"): v for k, v in headers.items()}, data)
