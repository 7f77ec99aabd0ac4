"""The breaker in the stack: refused at once, probed in the background."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from memotel.calls import Answer, Call
from memotel.config import BreakerPolicy
from memotel.deadline import monotonic
from memotel.errors import (
    AuthenticationError,
    BudgetExceededError,
    CircuitOpenError,
    MemotelError,
    ResponseFormatError,
    ServiceUnavailableError,
    ShedError,
    TransportError,
)
from memotel.middleware.breaker import breaker, refusal, verdict_of
from memotel.outcomes import CircuitState, Outcome
from memotel.policy.breaker import CircuitBreaker, Verdict
from memotel.runtime import BackgroundLoop

from .conftest import HIT, MakeCall, Scripted

POLICY = BreakerPolicy(open_s=0.001, max_open_s=0.001)


def test_breaker_refuses_at_once_and_probes_in_the_background(
    loop: BackgroundLoop, make_call: MakeCall, run: Callable[..., Any]
) -> None:
    closed = asyncio.Event()
    caller_loop: list[asyncio.AbstractEventLoop] = []

    def changed(state: CircuitState) -> None:
        if state is CircuitState.CLOSED:
            caller_loop[0].call_soon_threadsafe(closed.set)

    circuit = CircuitBreaker(POLICY, lambda: 0.5, changed)
    probes: list[Call] = []

    async def answer(call: Call) -> Answer:
        probes.append(call)
        return HIT

    work = Scripted(*[BudgetExceededError("late")] * 3, answer)
    handle = breaker(work, circuit, loop)

    async def main() -> None:
        caller_loop.append(asyncio.get_running_loop())
        for _ in range(3):
            with pytest.raises(BudgetExceededError):
                await handle(make_call())
        assert circuit.state is CircuitState.OPEN
        await asyncio.sleep(0.01)  # the open period is 1 ms
        caller = make_call()
        with pytest.raises(CircuitOpenError):
            await handle(caller)
        await closed.wait()
        assert probes[0] is not caller
        assert probes[0].is_probe
        assert not caller.is_settled()
        assert await handle(make_call()) == HIT

    run(asyncio.wait_for(main(), 10))


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (BudgetExceededError("late"), Verdict.TIMEOUT),
        (TransportError("reset"), Verdict.FAILURE),
        (ResponseFormatError("odd"), Verdict.FAILURE),
        (ServiceUnavailableError("down", status_code=503), Verdict.FAILURE),
        (AuthenticationError("no", status_code=401), Verdict.ANSWERED),
        (ShedError("full"), Verdict.NEUTRAL),
        (MemotelError("bug"), Verdict.NEUTRAL),
    ],
    ids=lambda value: type(value).__name__,
)
def test_breaker_judges_each_error(error: MemotelError, verdict: Verdict) -> None:
    assert verdict_of(error) is verdict


def test_open_circuit_refuses_before_anything_is_handed_over(
    make_call: MakeCall, run: Callable[..., Any]
) -> None:
    circuit = CircuitBreaker(BreakerPolicy(open_s=60.0, max_open_s=60.0), lambda: 0.5)
    for _ in range(3):
        circuit.record(circuit.admit(0.0), Verdict.TIMEOUT, monotonic(), budget_s=1.0)
    work = Scripted(HIT)
    caller = make_call()

    async def main() -> None:
        with pytest.raises(CircuitOpenError):
            await refusal(work, circuit)(caller)

    run(main())
    assert work.calls == []
    assert caller.circuit is CircuitState.OPEN
    assert caller.future.result().outcome is Outcome.CIRCUIT_OPEN


def test_whoever_may_probe_passes_the_refusal(make_call: MakeCall, run: Callable[..., Any]) -> None:
    circuit = CircuitBreaker(BreakerPolicy(open_s=0.001, max_open_s=0.001), lambda: 0.5)
    for _ in range(3):
        circuit.record(circuit.admit(0.0), Verdict.TIMEOUT, 0.0, budget_s=1.0)
    assert circuit.refuses(0.0)
    work = Scripted(HIT)
    assert run(refusal(work, circuit)(make_call())) is HIT
    assert circuit.state is CircuitState.OPEN
