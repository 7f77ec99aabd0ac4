import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from http_calls import client_for, in_loop, post

from memotel.errors import (
    BudgetExceededError,
    ConfigurationError,
    ResponseFormatError,
    TransportError,
)
from memotel.http.carriers import MAX_ZOMBIES


class Held(httpx.AsyncBaseTransport):
    """A transport that keeps no timeout: it answers when the test lets it."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.requests: list[httpx.Request] = []
        self.is_closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        await self.gate.wait()
        return httpx.Response(200, json={"context": ""})

    async def aclose(self) -> None:
        self.is_closed = True


class Dripping(httpx.AsyncByteStream):
    """A body without end, a little at each turn of the loop."""

    def __init__(self) -> None:
        self.is_closed = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 100
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        self.is_closed.set()


def test_a_transport_of_the_callers_is_used_and_left_open() -> None:
    async def scenario() -> None:
        transport = Held()
        transport.gate.set()
        async with client_for("https://memory.invalid", transport=transport) as client:
            response = await post(client, headers=(("Authorization", "Bearer rk_1"),))
        assert response.body == b'{"context":""}'
        assert response.headers["content-type"] == "application/json"
        assert str(transport.requests[0].url) == "https://memory.invalid/v1/memory/recall"
        assert transport.requests[0].headers["authorization"] == "Bearer rk_1"
        timeouts = transport.requests[0].extensions["timeout"]
        assert set(timeouts) == {"connect", "read", "write", "pool"}
        assert all(0 < value <= 20 for value in timeouts.values())
        assert not transport.is_closed

    in_loop(scenario())


def test_httpxs_own_mock_transport_can_be_given() -> None:
    async def scenario() -> None:
        transport = httpx.MockTransport(lambda request: httpx.Response(204))
        async with client_for("https://memory.invalid", transport=transport) as client:
            assert (await post(client)).status == 204

    in_loop(scenario())


def test_a_transport_that_hangs_is_left_at_the_deadline_and_not_cancelled() -> None:
    async def scenario() -> None:
        transport = Held()
        async with client_for("https://memory.invalid", transport=transport) as client:
            with pytest.raises(BudgetExceededError):
                await post(client, budget_s=0.1)
            transport.gate.set()
            assert (await post(client)).status == 200
        assert len(transport.requests) == 2

    in_loop(scenario())


def test_requests_that_hang_in_it_are_capped() -> None:
    async def scenario() -> None:
        transport = Held()
        async with client_for("https://x.invalid", transport=transport, pool_size=99) as client:
            hung = [asyncio.ensure_future(post(client, budget_s=1.0)) for _ in range(MAX_ZOMBIES)]
            for end in await asyncio.gather(*hung, return_exceptions=True):
                assert isinstance(end, BudgetExceededError)
            with pytest.raises(TransportError, match="transport=") as caught:
                await post(client, budget_s=1.0)
            assert caught.value.is_unsent
            assert len(transport.requests) == MAX_ZOMBIES
            transport.gate.set()
            await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
            assert (await post(client)).status == 200

    in_loop(scenario())


def test_a_body_without_end_is_cut_at_the_deadline_or_the_bound() -> None:
    async def scenario() -> None:
        body = Dripping()
        transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=body))
        async with client_for("https://x.invalid", transport=transport) as client:
            with pytest.raises(BudgetExceededError):
                await post(client, budget_s=0.1)
            await body.is_closed.wait()
        async with client_for(
            "https://x.invalid", transport=transport, max_response_bytes=10
        ) as client:
            with pytest.raises(ResponseFormatError, match="max_response_bytes"):
                await post(client)

    in_loop(scenario())


@pytest.mark.parametrize(
    "error", [httpx.ConnectTimeout("x"), httpx.ReadError("x"), ValueError("rk_secret"), OSError(5)]
)
def test_whatever_it_raises_may_have_been_sent(error: Exception) -> None:
    async def scenario() -> None:
        def fails(request: httpx.Request) -> httpx.Response:
            raise error

        transport = httpx.MockTransport(fails)
        async with client_for("https://x.invalid", transport=transport) as client:
            with pytest.raises(TransportError) as caught:
                await post(client)
        assert not caught.value.is_unsent
        assert not caught.value.has_response
        assert "rk_secret" not in str(caught.value)

    in_loop(scenario())


def test_something_that_is_no_transport_is_refused() -> None:
    async def scenario() -> None:
        async with client_for("https://x.invalid", transport=object()) as client:
            with pytest.raises(ConfigurationError, match="AsyncBaseTransport"):
                await post(client)

    in_loop(scenario())


class Raising(httpx.AsyncBaseTransport):
    """A transport that ends every request with `error`."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise self._error


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), BaseException("odd")]
)
@pytest.mark.usefixtures("any_loop")
def test_a_transport_that_would_end_the_loop_or_the_task_ends_its_request_alone(
    error: BaseException,
) -> None:
    async def scenario() -> None:
        transport = Raising(error)
        async with client_for("https://memory.invalid", transport=transport) as client:
            for _ in range(2):
                with pytest.raises(TransportError, match=type(error).__name__):
                    await post(client)

    in_loop(scenario())
