"""Headers that would change what a request is are refused before anything is sent."""

from typing import Any

import pytest
from http_calls import client_for, in_loop, post
from raw_server import Received, answering, http_answer, raw_server

from memotel.errors import ConfigurationError
from memotel.http.outgoing import field_of

REFUSED = [
    ("Transfer-Encoding", "chunked"),
    ("transfer-encoding", "identity"),
    ("X", "a\udc80"),
    ("X\udc80", "a"),
    ("Idempotency-Key", "a\r\nX: 1"),
]


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_header_that_cannot_be_sent_is_a_fault_of_the_configuration(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError):
        field_of(name, value)


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_nothing_is_sent_with_a_refused_header(name: str, value: str) -> None:
    received: list[Received] = []

    async def scenario() -> None:
        async with (
            raw_server(answering(http_answer(), received)) as server,
            client_for(server.url) as client,
        ):
            with pytest.raises(ConfigurationError):
                await post(client, headers=((name, value),))
            assert (await post(client)).status == 200

    in_loop(scenario())
    assert len(received) == 1


def test_length_is_that_of_the_body_whatever_headers_say() -> None:
    received: list[Received] = []

    async def scenario() -> None:
        given: dict[str, Any] = {"headers": {"Content-Length": "3"}}
        async with (
            raw_server(answering(http_answer(), received)) as server,
            client_for(server.url, **given) as client,
        ):
            await post(client, b"GET /other HTTP/1.1\r\n\r\n")
            await post(client)

    in_loop(scenario())
    assert [each.line for each in received] == ["POST /v1/memory/recall HTTP/1.1"] * 2
