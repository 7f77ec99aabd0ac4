"""What a peer says before the handshake came in the clear, from whoever it may be: it is never an answer of the service."""

import ssl
from pathlib import Path

import httpcore
import pytest
from certificates import ca_file, server_context
from http_calls import client_for, in_loop, post, turns
from raw_server import Peer, answering, connect_proxy, http_answer, raw_server

from memotel.errors import TransportError
from memotel.http.network import DeadlineBackend
from memotel.http.resolver import Resolver
from memotel.http.tunnel import MAX_ANSWER_BYTES

FORGED = http_answer(b'{"whose": "nobody we trust"}')
STATUS_LINE = b"HTTP/1.1 200 OK\r\n"
PADDING = b"x-padding: " + b"x" * (MAX_ANSWER_BYTES - len(STATUS_LINE) - 15) + b"\r\n\r\n"


@pytest.mark.usefixtures("any_loop")
def test_peer_that_speaks_before_the_handshake_is_refused() -> None:
    async def speak_first(peer: Peer) -> None:
        await peer.send(FORGED)
        await peer.until_gone()

    async def scenario() -> None:
        network = DeadlineBackend(Resolver())
        async with raw_server(speak_first) as server:
            stream = await network.connect_tcp("127.0.0.1", server.port)
            while not stream.get_extra_info("is_readable"):
                await turns()
            await turns()
            with pytest.raises(httpcore.ConnectError, match="spoke before the handshake"):
                await stream.start_tls(ssl.create_default_context(), "127.0.0.1")
            await server.until(lambda served: served.open == 0)
            await network.aclose(5.0)

    in_loop(scenario())


@pytest.mark.parametrize("head", [b"\r\n", PADDING], ids=["behind it", "beyond what is read"])
@pytest.mark.usefixtures("any_loop")
def test_what_a_proxy_adds_to_its_answer_is_no_answer_of_the_service(
    head: bytes, tmp_path: Path
) -> None:
    assert len(STATUS_LINE + PADDING) == MAX_ANSWER_BYTES

    async def scenario() -> None:
        async with raw_server(
            answering(http_answer()), context=server_context("memory.invalid")
        ) as service:
            behaviour = connect_proxy([], port=service.port, more=head + FORGED)
            async with (
                raw_server(behaviour) as proxy,
                client_for(
                    "https://memory.invalid", proxy=proxy.url, verify=ca_file(tmp_path)
                ) as client,
            ):
                with pytest.raises(TransportError) as caught:
                    await post(client)
                assert caught.value.is_unsent
                assert not caught.value.has_response
                await proxy.until(lambda served: served.open == 0)

    in_loop(scenario())
