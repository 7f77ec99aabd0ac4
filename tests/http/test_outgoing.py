"""A request as it leaves: what is written is what h11 would read, and nothing can be smuggled into it."""

import h11
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotel.errors import ConfigurationError
from memotel.http.outgoing import Outgoing, field_of

NAMES = st.text(st.sampled_from("abcXYZ-019_!"), min_size=1, max_size=12)


def read_by_h11(data: bytes) -> tuple[h11.Request, bytes]:
    server = h11.Connection(h11.SERVER)
    server.receive_data(data)
    request = server.next_event()
    assert isinstance(request, h11.Request)
    body = b""
    while isinstance(event := server.next_event(), h11.Data):
        body += bytes(event.data)
    assert isinstance(event, h11.EndOfMessage)
    assert not server.trailing_data[0]
    return request, body


def outgoing(body: bytes, *fields: tuple[bytes, bytes]) -> Outgoing:
    headers = ((b"host", b"memory.test"), *fields, (b"content-length", b"%d" % len(body)))
    return Outgoing("POST", httpx.URL("https://memory.test/v1?a=b"), b"/v1?a=b", headers, body)


@given(body=st.binary(max_size=200), name=NAMES, value=st.text(max_size=40))
def test_what_is_written_is_one_request(body: bytes, name: str, value: str) -> None:
    try:
        field = field_of(f"x-{name}", value)
    except (ConfigurationError, UnicodeEncodeError):
        return
    request, received = read_by_h11(outgoing(body, field).encoded())
    assert received == body
    assert (request.method, request.target) == (b"POST", b"/v1?a=b")
    assert field in list(request.headers)


@pytest.mark.parametrize("value", ["a\r\nX-Admin: 1", "a\nb", "a\0b", "a\x1bb", "a\x7f"])
def test_control_characters_in_a_header_are_refused(value: str) -> None:
    with pytest.raises(ConfigurationError, match="X-Key must not hold line breaks"):
        field_of("X-Key", value)


@pytest.mark.parametrize("name", ["", "x y", "x:y", "x\r\ny", "näme"])
def test_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be the name of a header"):
        field_of(name, "1")


def test_every_transport_is_handed_the_same_request() -> None:
    request = outgoing(b"tea", field_of("X-Key", " ms_key "))
    theirs = request.as_httpx()
    assert (theirs.method, str(theirs.url)) == ("POST", "https://memory.test/v1?a=b")
    assert theirs.headers["x-key"] == "ms_key"
    assert theirs.headers["content-length"] == "3"
    core = request.as_httpcore()
    assert (core.method, core.url.target) == (b"POST", b"/v1?a=b")
    assert (b"x-key", b"ms_key") in core.headers
