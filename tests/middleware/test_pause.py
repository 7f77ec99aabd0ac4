"""Rejected keys and rate limits: refused at once, checked once a minute, over when the service says so."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from memotel.calls import Call
from memotel.errors import AuthenticationError, RateLimitedError
from memotel.middleware.pause import pause
from memotel.notices import Notices
from memotel.outcomes import Provider
from memotel.policy.pauses import CredentialLatch, RatePause

from .conftest import HIT, MakeCall, Scripted

REJECTED = AuthenticationError("no", status_code=401)
FORBIDDEN = AuthenticationError("no", status_code=403)
SLOW_DOWN = RateLimitedError("slow down", status_code=429, retry_after_s=60.0)


def notices() -> Notices:
    return Notices(Provider.MEMORYSYNC, "account", later=lambda _s, _f: None)


async def outcome(handle: Callable[[Call], Any], call: Call) -> str:
    try:
        await handle(call)
    except (AuthenticationError, RateLimitedError) as error:
        return type(error).__name__
    return "answered"


def test_rejected_key_is_not_tried_again_before_its_minute(make_call: MakeCall) -> None:
    work, latch = Scripted(REJECTED), CredentialLatch(recheck_s=3600.0)
    handle = pause(work, latch, RatePause(), notices=notices())

    async def main() -> list[str]:
        return [await outcome(handle, make_call()) for _ in range(5)]

    assert asyncio.run(main()) == ["AuthenticationError"] * 5
    assert len(work.calls) == 1


def test_accepted_key_opens_the_way_and_says_so_once(make_call: MakeCall) -> None:
    accepted: list[int] = []
    work, latch = Scripted(REJECTED, HIT), CredentialLatch(recheck_s=0.0)
    handle = pause(
        work, latch, RatePause(), notices=notices(), on_accepted=lambda: accepted.append(1)
    )

    async def main() -> list[str]:
        return [await outcome(handle, make_call()) for _ in range(4)]

    assert asyncio.run(main()) == ["AuthenticationError", "answered", "answered", "answered"]
    assert accepted == [1]


def test_forbidden_call_latches_nothing(make_call: MakeCall) -> None:
    work, latch = Scripted(FORBIDDEN), CredentialLatch(recheck_s=3600.0)
    handle = pause(work, latch, RatePause(), notices=notices())

    async def main() -> None:
        for _ in range(3):
            with pytest.raises(AuthenticationError):
                await handle(make_call())

    asyncio.run(main())
    assert len(work.calls) == 3


def test_rate_limit_holds_recalls_back_for_its_time(make_call: MakeCall) -> None:
    work = Scripted(SLOW_DOWN)
    handle = pause(work, CredentialLatch(), RatePause(), notices=notices())

    async def main() -> list[str]:
        return [await outcome(handle, make_call()) for _ in range(5)]

    assert asyncio.run(main()) == ["RateLimitedError"] * 5
    assert len(work.calls) == 1
