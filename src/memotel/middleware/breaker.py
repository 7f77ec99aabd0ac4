"""An outage costs a few budgets, not one per turn; and no caller's budget pays for finding out that it is over."""

from collections.abc import Callable

from memotel.calls import Answer, Call, Handler
from memotel.deadline import current_deadline, monotonic
from memotel.errors import (
    BudgetExceededError,
    CircuitOpenError,
    MemotelError,
    ResponseFormatError,
    ServiceError,
    ServiceUnavailableError,
    ShedError,
    TransportError,
)
from memotel.outcomes import CircuitState
from memotel.policy.breaker import Admission, CircuitBreaker, Ticket, Verdict
from memotel.runtime import BackgroundLoop

_REQUEST_TIMEOUT = 408
_REFUSAL = "the service was failing moments ago; memotel asks again by itself"


def refusal(next_handler: Handler, circuit: CircuitBreaker) -> Handler:
    """Refuse on the caller's own thread what the open circuit would refuse on the background loop.

    In a long outage every turn comes this way: it costs no hand-over. Whoever may probe passes.
    """

    async def handle(call: Call) -> Answer:
        if circuit.refuses(monotonic()):
            call.circuit = circuit.state
            error = CircuitOpenError(_REFUSAL)
            call.settle(error.outcome, error=error)
            raise error
        return await next_handler(call)

    return handle


def breaker(
    next_handler: Handler,
    circuit: CircuitBreaker,
    loop: BackgroundLoop,
    on_fault: Callable[[Exception], object] = id,
) -> Handler:
    """Refuse calls while the circuit is open; send the one that may probe in the background.

    The arriving call gets `CircuitOpenError` at once in either case. Sets `call.circuit`. Writes do not pass here.
    `on_fault` is told of a probe's error that says nothing of the service: the circuit stays open while it lasts.
    """

    async def handle(call: Call) -> Answer:
        ticket = circuit.admit(monotonic())
        call.circuit = circuit.state
        if ticket.admission is Admission.ALLOWED:
            return await _observed(next_handler, circuit, ticket, call)
        if ticket.admission is Admission.PROBE:
            loop.spawn(_probe(next_handler, circuit, ticket, call, on_fault=on_fault))
        raise CircuitOpenError(_REFUSAL)

    return handle


async def _observed(
    next_handler: Handler, circuit: CircuitBreaker, ticket: Ticket, call: Call
) -> Answer:
    started_at = monotonic()
    verdict = Verdict.NEUTRAL
    try:
        answer = await next_handler(call)
        verdict = Verdict.SUCCESS
    except MemotelError as error:
        verdict = verdict_of(error)
        raise
    finally:
        now = monotonic()
        circuit.record(ticket, verdict, now, budget_s=call.budget_s, duration_s=now - started_at)
    return answer


async def _probe(
    next_handler: Handler,
    circuit: CircuitBreaker,
    ticket: Ticket,
    caller: Call,
    *,
    on_fault: Callable[[Exception], object],
) -> None:
    call = caller.branch(caller.budget_s)
    call.is_probe = True
    call.circuit = CircuitState.HALF_OPEN
    current_deadline.set(call.deadline)
    try:
        await _observed(next_handler, circuit, ticket, call)
    except Exception as error:  # noqa: BLE001 # the verdict is recorded, and nobody waits for this answer
        if _is_ours(error):
            on_fault(error)


def _is_ours(error: Exception) -> bool:
    """Whether an error is a fault of a setting or of memotel's: it says nothing of the service, and is no want of room."""
    if not isinstance(error, MemotelError):
        return True
    return verdict_of(error) is Verdict.NEUTRAL and not isinstance(error, ShedError)


def verdict_of(error: MemotelError) -> Verdict:
    """Return what an error says of the service's health.

    A service that answers 4xx works; of these 408 alone, which blames time, says that it does not.
    """
    if isinstance(error, BudgetExceededError):
        return Verdict.TIMEOUT
    if isinstance(error, ServiceError):
        is_failure = isinstance(error, ServiceUnavailableError) and not _is_refusal(error)
        return Verdict.FAILURE if is_failure else Verdict.ANSWERED
    is_failure = isinstance(error, TransportError | ResponseFormatError)
    return Verdict.FAILURE if is_failure else Verdict.NEUTRAL


def _is_refusal(error: ServiceError) -> bool:
    return 400 <= error.status_code <= 499 and error.status_code != _REQUEST_TIMEOUT
