"""A call: one recall, search, save or write delivery in flight, and who may say how it ended.

Whoever settles a call first decides its outcome, its duration and the end of its span: the work, the deadline
or a cancellation. What the work does later changes nothing that the caller or a counter has seen.
"""

import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from memotel.deadline import Deadline, monotonic
from memotel.errors import MemotelError
from memotel.http.messages import HttpRequest, HttpResponse
from memotel.outcomes import (
    Adapter,
    CircuitState,
    Operation,
    Outcome,
    Part,
    Phase,
    Provider,
    QuotaState,
    WriteOutcome,
)
from memotel.values import Memories, Recall, Save, Scope, Search, Write, WriteAnswer

RETRY = "retry"
"""Outcome of a send that will be repeated; not terminal, so it is no member of an outcome enum."""

Request = Recall | Search | Save | Write
Answer = Memories | WriteAnswer
Ending = Outcome | WriteOutcome | str


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a call ended: its outcome, and the answer or the error behind it."""

    outcome: Ending
    answer: Answer | None = None
    error: BaseException | None = None
    duration_s: float = 0.0


class Call:
    """One operation from its first line to its settlement.

    Made in the caller's context; `began_at` (monotonic seconds) is when the caller asked, where that was before.
    Attributes that the work fills in while it runs: `attempts`, `phase`, `circuit`,
    `quota`, `tenant`, `cuts`. `trace` belongs to the telemetry middlewares and is opaque to everything else.
    """

    __slots__ = (
        "_once",
        "adapter",
        "agent",
        "attempts",
        "budget_s",
        "circuit",
        "cuts",
        "deadline",
        "future",
        "is_blocking",
        "is_probe",
        "on_settle",
        "operation",
        "phase",
        "provider",
        "quota",
        "request",
        "retry_cause",
        "started_at",
        "tenant",
        "trace",
    )

    def __init__(
        self,
        operation: Operation,
        request: Request,
        *,
        provider: Provider,
        adapter: Adapter,
        budget_s: float,
        is_blocking: bool = False,
        began_at: float | None = None,
    ) -> None:
        self.operation = operation
        self.request = request
        self.provider = provider
        self.adapter = adapter
        self.agent: str | None = getattr(request, "agent", None)
        self.budget_s = budget_s
        self.started_at = monotonic() if began_at is None else began_at
        self.deadline = Deadline(self.started_at + budget_s)
        self.is_blocking = is_blocking
        self.is_probe = False
        self.attempts = 0
        self.phase = Phase.QUEUE
        self.circuit = CircuitState.CLOSED
        self.quota = QuotaState.OK
        self.retry_cause: str | None = None
        self.tenant: str | None = None
        self.cuts: tuple[Part, ...] = ()
        self.trace: object | None = None
        self.on_settle: Callable[[Call, Settlement], None] | None = None
        self.future: Future[Settlement] = Future()
        self._once = threading.Lock()

    @property
    def scope(self) -> Scope:
        """Whose memory this call is about."""
        request = self.request
        return request.turn.scope if isinstance(request, Write) else request.scope

    def settle(
        self, outcome: Ending, answer: Answer | None = None, error: BaseException | None = None
    ) -> bool:
        """End the call with `outcome`; return False, changing nothing, if it had ended already.

        Safe from any thread. `on_settle` has run when `future` gets its result.
        """
        if not self._once.acquire(blocking=False):
            return False
        settlement = Settlement(outcome, answer, error, monotonic() - self.started_at)
        try:
            if self.on_settle is not None:
                self.on_settle(self, settlement)
        finally:
            self.future.set_result(settlement)
        return True

    def branch(self, budget_s: float) -> "Call":
        """Return a call for work on this one's behalf (a look-up, a probe) that has its own budget and ending."""
        call = Call(
            self.operation,
            self.request,
            provider=self.provider,
            adapter=self.adapter,
            budget_s=budget_s,
        )
        call.trace = self.trace
        call.tenant = self.tenant
        return call

    def is_settled(self) -> bool:
        """Whether somebody has ended this call."""
        return self._once.locked()


Handler = Callable[[Call], Coroutine[Any, Any, Answer]]
"""One stage of a stack: takes a call, returns the answer or raises a `MemotelError`."""


Send = Callable[[Call, HttpRequest], Coroutine[Any, Any, HttpResponse]]
"""What a backend sends with: one attempt over HTTP, within the call's deadline."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What telemetry says of the service behind a client.

    Attributes:
        provider: the service.
        address: host name of the service.
        port: its port.
        store_id: the project, where one is set.
        write_operation: `gen_ai.operation.name` of a write.
        record_session_id: whether spans may carry the session as `gen_ai.conversation.id`.
        base_url: what `url.full` of an attempt starts with; empty = https, address and port.
    """

    provider: Provider
    address: str
    port: int
    store_id: str | None
    write_operation: str
    record_session_id: bool = True
    base_url: str = ""


def ending_of(error: BaseException) -> Outcome:
    """Return the one outcome that an error stands for."""
    return error.outcome if isinstance(error, MemotelError) else Outcome.INTERNAL_ERROR
