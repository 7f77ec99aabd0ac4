"""The tenant look-up: once for all, kept, never wrong for long."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from memotel.backends.memorysync import MemorySyncBackend
from memotel.calls import Call
from memotel.errors import BudgetExceededError, ServiceUnavailableError
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.middleware.tenant import Tenant, tenant
from memotel.outcomes import Phase

from .conftest import HIT, MakeCall, Scripted

FOUND = HttpResponse(200, {}, b'[{"tenant_id": "t_1"}]')
DENIED = HttpResponse(403, {}, b'{"detail": "scope"}')
DOWN = HttpResponse(503, {}, b"{}")


class Lookups:
    """Answers look-ups in turn and counts them."""

    def __init__(self, *responses: HttpResponse) -> None:
        self.responses = list(responses)
        self.count = 0

    async def __call__(self, call: Call, request: HttpRequest) -> HttpResponse:
        self.count += 1
        await asyncio.sleep(0)
        return self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]


def test_tenant_is_looked_up_once_for_all(make_call: MakeCall, run: Callable[..., Any]) -> None:
    lookups, names = Lookups(FOUND), Tenant(MemorySyncBackend())
    work = Scripted(HIT)
    handle = tenant(work, names, lookups)

    async def main() -> None:
        await asyncio.gather(*[handle(make_call()) for _ in range(20)])
        await handle(make_call())

    run(main())

    assert lookups.count == 1
    assert {call.tenant for call in work.calls} == {"t_1"}


def test_tenant_stands_in_for_a_key_without_that_scope_and_is_verified_again(
    make_call: MakeCall, run: Callable[..., Any]
) -> None:
    lookups = Lookups(DENIED, FOUND)
    names = Tenant(MemorySyncBackend(), verify_after_s=0.0)

    async def main() -> list[str]:
        return [await names.name(make_call(), lookups) for _ in range(2)]

    assert run(main()) == ["default", "t_1"]


def test_tenant_failure_is_not_remembered(make_call: MakeCall, run: Callable[..., Any]) -> None:
    lookups, names = Lookups(DOWN, FOUND), Tenant(MemorySyncBackend())

    async def main() -> str:
        with pytest.raises(ServiceUnavailableError):
            await names.name(make_call(), lookups)
        return await names.name(make_call(), lookups)

    assert run(main()) == "t_1"


def test_tenant_look_up_stays_inside_the_callers_deadline(
    make_call: MakeCall, run: Callable[..., Any]
) -> None:
    async def never(call: Call, request: HttpRequest) -> HttpResponse:
        await asyncio.sleep(30)
        return FOUND

    async def main() -> Phase:
        with pytest.raises(BudgetExceededError) as caught:
            await Tenant(MemorySyncBackend()).name(make_call(0.05), never)
        return caught.value.phase

    assert run(main()) is Phase.TENANT
