"""From the caller's thread or loop to the background loop, and back by the deadline at the latest.

The caller waits until the deadline and then abandons the work; it never cancels it. The work ends by the same
deadline, inside the network backend, and gives back what it holds.
"""

import asyncio
import concurrent.futures
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

from memotel.calls import Answer, Call, Handler, Settlement, ending_of
from memotel.deadline import current_deadline
from memotel.errors import OWN_LOOP, BudgetExceededError, ConfigurationError, MemotelError
from memotel.http.waiting import flight_result
from memotel.outcomes import Outcome, Phase, QuotaState, WriteOutcome
from memotel.runtime import BackgroundLoop
from memotel.sharing import is_in_event_loop
from memotel.values import WriteAnswer

T = TypeVar("T")


def bridge(next_handler: Handler, loop: BackgroundLoop) -> Handler:
    """Run `next_handler` on the background loop and settle the call with what comes first.

    A blocking call (`call.is_blocking`) waits in its own thread and never suspends; any other is awaited on the
    caller's loop. Raises the settlement's error; `CancelledError` passes after the call is settled as cancelled.
    """

    async def handle(call: Call) -> Answer:
        if call.is_blocking and loop.is_current():
            error = MemotelError(OWN_LOOP)
            call.settle(Outcome.INTERNAL_ERROR, error=error)
        elif not (call.is_blocking or is_in_event_loop()):
            refused = ConfigurationError(
                "an async call of memotel needs a running asyncio loop (trio's is none);"
                " use the blocking form, in a thread"
            )
            call.settle(refused.outcome, error=refused)
            raise refused
        else:
            loop.spawn(_work(next_handler, call))
        settlement = _block(call) if call.is_blocking else await _wait(call)
        return _answer(settlement)

    return handle


async def _work(next_handler: Handler, call: Call) -> None:
    current_deadline.set(call.deadline)
    try:
        if call.deadline.has_passed():
            raise BudgetExceededError(
                "the deadline came while the call was queued", phase=Phase.QUEUE
            )
        answer = await next_handler(call)
    except MemotelError as error:
        call.settle(error.outcome, error=error)
    except Exception as error:  # noqa: BLE001 # the caller must get an ending whatever went wrong here
        call.settle(ending_of(error), error=error)
    except (asyncio.CancelledError, KeyboardInterrupt, SystemExit) as error:
        # Not memotel's doing. The caller hears of it now, and as an error: it is not the caller that is to end.
        cut_off = MemotelError(f"the work was ended by {type(error).__name__}")
        call.settle(cut_off.outcome, error=cut_off)
        raise
    else:
        call.settle(_outcome(call, answer), answer)


def _outcome(call: Call, answer: Answer) -> Outcome | WriteOutcome:
    if isinstance(answer, WriteAnswer):
        return answer.outcome
    if answer.is_empty():
        return Outcome.QUOTA if call.quota is QuotaState.SILENT else Outcome.EMPTY
    return Outcome.HIT


def _block(call: Call) -> Settlement:
    try:
        return call.future.result(max(0.0, call.deadline.remaining_s()))
    except concurrent.futures.TimeoutError:
        return _abandon(call)
    except BaseException:
        # KeyboardInterrupt and the like: the caller leaves, the work ends by its deadline.
        call.settle(Outcome.CANCELLED)
        raise


async def _wait(call: Call) -> Settlement:
    try:
        return await flight_result(call.future, call.deadline.remaining_s())
    except TimeoutError:
        return _abandon(call)
    except asyncio.CancelledError:
        call.settle(Outcome.CANCELLED)
        raise


def _abandon(call: Call) -> Settlement:
    """Settle as a timeout, unless the work was just quicker; return the ending that stands."""
    phase = call.phase
    error = BudgetExceededError(
        f"no answer within {call.budget_s:g} s (phase {phase})", phase=phase
    )
    call.settle(Outcome.TIMEOUT, error=error)
    return call.future.result()


def _answer(settlement: Settlement) -> Answer:
    if settlement.error is not None:
        raise settlement.error
    if settlement.answer is None:
        raise MemotelError("the call ended without an answer")
    return settlement.answer


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as finished:
        return cast("T", finished.value)
    coroutine.close()
    raise MemotelError("a blocking call suspended; its bridge should have waited in this thread")
