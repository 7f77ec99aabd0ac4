"""What each answer says of the service's health, and that a probe is given back whatever becomes of it."""

import asyncio

import pytest

from memotel.backends.errors import error_of
from memotel.calls import Answer, Call
from memotel.config import BreakerPolicy
from memotel.deadline import monotonic
from memotel.errors import (
    BudgetExceededError,
    CircuitOpenError,
    MemotelError,
    ServiceUnavailableError,
    ShedError,
    TransportError,
)
from memotel.http.messages import HttpResponse
from memotel.middleware.breaker import breaker, verdict_of
from memotel.outcomes import CircuitState, Provider
from memotel.policy.breaker import CircuitBreaker, Verdict
from memotel.runtime import BackgroundLoop

from .conftest import HIT, MakeCall, Scripted

POLICY = BreakerPolicy(open_s=0.001, max_open_s=0.001)
REFUSALS = sorted({*range(400, 432), 451} - {408})


def answered(status: int) -> MemotelError:
    """Return the error that an answer with this status becomes."""
    return error_of(HttpResponse(status, {}, b"{}"), Provider.MEMORYSYNC, lambda: 0.0)


@pytest.mark.parametrize("status", REFUSALS)
def test_4xx_says_that_the_service_works(status: int) -> None:
    assert verdict_of(answered(status)) is Verdict.ANSWERED


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 599])
def test_408_and_5xx_say_that_it_does_not(status: int) -> None:
    assert verdict_of(answered(status)) is Verdict.FAILURE


def test_refusals_never_open_the_circuit(make_call: MakeCall, loop: BackgroundLoop) -> None:
    circuit = CircuitBreaker(BreakerPolicy(), lambda: 0.5)
    handle = breaker(Scripted(*map(answered, REFUSALS)), circuit, loop)

    async def main() -> None:
        for _ in REFUSALS:
            with pytest.raises(MemotelError):
                await handle(make_call())

    asyncio.run(main())
    assert circuit.state is CircuitState.CLOSED


ENDS: list[Answer | Exception] = [
    HIT,
    BudgetExceededError("late"),
    TransportError("reset"),
    ServiceUnavailableError("down", status_code=503),
    answered(401),
    ShedError("full"),
    KeyError("a fault of our own"),
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: type(end).__name__)
def test_probe_is_given_back_whatever_becomes_of_it(
    make_call: MakeCall, loop: BackgroundLoop, end: Answer | Exception
) -> None:
    """A second probe goes out after the first has ended, and the loop hears of no error that nobody handled."""
    unhandled: list[object] = []
    loop.start().set_exception_handler(lambda _, context: unhandled.append(context))
    circuit = CircuitBreaker(POLICY, lambda: 0.5)
    for _ in range(BreakerPolicy().consecutive_timeouts):
        circuit.record(circuit.admit(0.0), Verdict.TIMEOUT, monotonic(), budget_s=1.0)
    probes: list[Call] = []

    async def work(call: Call) -> Answer:
        probes.append(call)
        if len(probes) == 1 and isinstance(end, Exception):
            raise end
        return HIT

    faults: list[Exception] = []
    handle = breaker(Scripted(work), circuit, loop, faults.append)

    async def main() -> None:
        while circuit.state is not CircuitState.CLOSED:
            with pytest.raises(CircuitOpenError):
                await handle(make_call())
            await asyncio.sleep(0.002)  # longer than the circuit stays open
        assert await handle(make_call()) is HIT

    asyncio.run(asyncio.wait_for(main(), 20))
    loop.run(asyncio.sleep(0), 20)
    assert [call.is_probe for call in probes[:-1]] == [True] * (len(probes) - 1)
    assert unhandled == []
    assert faults == [end] * isinstance(end, KeyError)
