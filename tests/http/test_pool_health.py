"""Many requests that end by their deadline must leave the pool as good as new."""

import asyncio
import gc
import random
from collections import Counter

import pytest
from http_calls import client_for, in_loop, post
from raw_server import Peer, http_answer, raw_server

from memotel.deadline import monotonic
from memotel.errors import BudgetExceededError, TransportError
from memotel.http import HttpClient

pytestmark = pytest.mark.usefixtures("any_engine")

Ends = Counter[type[Exception]]

CALLERS = 20
CHURN_S = 1.0
BUDGET_S = 0.05


async def fast_or_black_hole(peer: Peer) -> None:
    while True:
        request = await peer.request()
        if request.body == b"hang":
            await peer.until_gone()
            return
        await asyncio.sleep(0.005)
        await peer.send(http_answer())


async def churn(client: HttpClient, seed: int, ends: Ends) -> None:
    chance = random.Random(seed)  # noqa: S311 # a repeatable mix, no secret
    until = monotonic() + CHURN_S
    while monotonic() < until:
        body = b"fast" if chance.random() < 0.7 else b"hang"
        try:
            await post(client, body, budget_s=BUDGET_S)
        except (BudgetExceededError, TransportError) as error:
            ends[type(error)] += 1


@pytest.mark.parametrize("pool_size", [CALLERS, 10], ids=["room for all", "contended"])
def test_a_storm_of_deadlines_leaves_the_pool_healthy(pool_size: int) -> None:
    async def scenario() -> None:
        ends: Ends = Counter()
        async with (
            raw_server(fast_or_black_hole) as server,
            client_for(server.url, pool_size=pool_size) as client,
        ):
            await asyncio.gather(*(churn(client, seed, ends) for seed in range(CALLERS)))
            # How many of the fast ones made it is the machine's affair, not the pool's.
            assert ends[BudgetExceededError] > 0
            for _ in range(10):
                assert (await post(client, b"fast")).status == 200
            assert client.connections <= pool_size
            await client.aclose()
            await server.until(lambda s: s.open == 0)
        gc.collect()

    in_loop(scenario())


def test_callers_that_give_up_their_task_cost_no_place() -> None:
    """Nothing of memotel cancels a request; an application that stops our loop's tasks must not wedge the client."""

    async def scenario() -> None:
        async with (
            raw_server(fast_or_black_hole) as server,
            client_for(server.url, pool_size=1) as client,
        ):
            for _ in range(5):
                request = asyncio.ensure_future(post(client, b"hang"))
                await asyncio.sleep(0.01)
                request.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await request
            assert (await post(client, b"fast")).status == 200

    in_loop(scenario())
