"""What is known of the one request that the current task sends: its deadline, and how far it has come.

The network backend below httpcore sees no request, only hosts and bytes. It finds the exchange it works for in a
context variable, which a task of its own carries safely, and notes there the facts that decide on a retry.
"""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from memotel.deadline import Deadline, current_deadline
from memotel.outcomes import Phase


class Progress(Protocol):
    """Whatever wants to know where a request is; a `Call` is one."""

    phase: Phase


@dataclass(slots=True)
class Exchange:
    """One request on its way.

    Attributes:
        deadline: when it ends, whatever happens.
        progress: told each phase as it begins.
        is_sent: True once a byte of the request was handed to a connection.
        has_response: True once a byte of the answer arrived.
        room_bytes: how many more bytes of an answer will be taken; below zero, too many came.
    """

    deadline: Deadline
    progress: Progress
    room_bytes: int
    is_sent: bool = False
    has_response: bool = False

    def receive(self, size_bytes: int) -> None:
        """Note that `size_bytes` of the answer came."""
        self.has_response = True
        self.room_bytes -= size_bytes

    @property
    def is_flooded(self) -> bool:
        """Whether the peer sent more than will be taken."""
        return self.room_bytes < 0


current_exchange: ContextVar[Exchange | None] = ContextVar("memotel_exchange", default=None)
"""The exchange that the running task works for."""


def enter(phase: Phase) -> None:
    """Note that the current exchange, if there is one, is now in `phase`."""
    exchange = current_exchange.get()
    if exchange is not None:
        exchange.progress.phase = phase


def time_left_s(timeout_s: float | None = None) -> float | None:
    """Return the seconds this task may wait: the lesser of `timeout_s` and what the deadline leaves.

    Zero or less once the deadline has passed; None where nothing bounds the wait.
    """
    deadline = current_deadline.get()
    if deadline is None:
        return timeout_s
    left_s = deadline.remaining_s()
    return left_s if timeout_s is None or left_s < timeout_s else timeout_s
