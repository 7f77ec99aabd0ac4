"""What an account says in the log: changes of state and faults, each with a stable event name, never once per turn.

At most one line a minute for each event of an account. A state that changed while its line was held back is said when
the minute is over, if it still stands; so the last line about a state is true. Records carry `event`, `provider`,
`account`, `suppressed` (how many such lines were held back before this one) and, where a span is current, `trace_id`
and `span_id`. No line holds words, keys, users or sessions.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from memotel import facades, runtime
from memotel.deadline import monotonic
from memotel.errors import ConfigurationError, InvalidRequestError
from memotel.telemetry import guard
from memotel.telemetry.tracing import current_ids

INTERVAL_S = 60.0
MOST = 1_024


class Event(StrEnum):
    """What happened. The part before the dot is the topic, and names the logger: `memotel.<topic>`."""

    CIRCUIT_OPENED = "circuit.opened"
    CIRCUIT_CLOSED = "circuit.closed"
    QUOTA_SILENT = "quota.silent"
    QUOTA_LIMITED = "quota.limited"
    QUOTA_RETURNED = "quota.returned"
    CREDENTIALS_REJECTED = "credentials.rejected"
    CREDENTIALS_ACCEPTED = "credentials.accepted"
    HTTP_CLIENT_RENEWED = "http.client_renewed"
    OUTBOX_FULL = "outbox.full"
    OUTBOX_DEGRADED = "outbox.degraded"
    OUTBOX_RESTORED = "outbox.restored"
    OUTBOX_DAMAGED = "outbox.damaged"
    OUTBOX_NEWER = "outbox.newer"
    OUTBOX_ADOPTED = "outbox.adopted"
    WRITES_DEAD_LETTER = "writes.dead_letter"
    WRITES_DROPPED = "writes.dropped"
    WRITES_REDACT_FAILED = "writes.redact_failed"
    HOOK_RECALL_FAILED = "hook.recall_failed"
    HOOK_WRITE_FAILED = "hook.write_failed"
    RECALL_FAILED = "recall.failed"
    # Said once in a process, by whom there is no account yet, or none at all.
    INSTALLATION_FOREIGN = facades.EVENT
    TELEMETRY_FAILED = guard.EVENT

    @property
    def topic(self) -> str:
        """What the event is about."""
        return self.value.partition(".")[0]


def fault_of(error: BaseException) -> str:
    """Say which error it was and where it came from; never its text, which may hold a user's words."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None:
        return type(error).__name__
    return f"{type(error).__name__} in {Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}"


def refusal_of(error: BaseException) -> str:
    """Say why a recall could not be sent, or was refused for good; empty for any other error, and a refused key.

    These texts are memotel's own: a setting and what is wrong with it, or a status.
    """
    is_refusal = isinstance(error, ConfigurationError | InvalidRequestError)
    return f"a recall was refused: {error}" if is_refusal else ""


def cause_of(error: BaseException) -> str:
    """Say why a recall failed: why it was refused, or else where memotel's own fault is."""
    return refusal_of(error) or f"memotel failed ({fault_of(error)})"


def raised_by_redact(error: BaseException) -> str:
    """Say that a recall was left out because `redact` raised; the error's text may hold a user's words."""
    return f"redact raised {type(error).__name__}; the reply goes on without memories"


GOOD = frozenset(
    {
        Event.CIRCUIT_CLOSED,
        Event.QUOTA_RETURNED,
        Event.CREDENTIALS_ACCEPTED,
        Event.OUTBOX_RESTORED,
    }
)
"""The states in which everything starts; entering one from there is no news."""

ERRORS = frozenset(
    {
        Event.CREDENTIALS_REJECTED,
        Event.HTTP_CLIENT_RENEWED,
        Event.OUTBOX_DEGRADED,
        Event.OUTBOX_DAMAGED,
    }
)
"""What does not pass by itself; the rest are warnings."""

NEWS = frozenset({Event.OUTBOX_ADOPTED})
"""What is as it should be, and still worth a line."""


def level_of(event: Event) -> int:
    """Return the level of an event's lines."""
    if event in NEWS:
        return logging.INFO
    return logging.ERROR if event in ERRORS else logging.WARNING


Later = Callable[[float, Callable[[], None]], object]
"""Runs a function after so many seconds."""


@dataclass(frozen=True, slots=True)
class _Line:
    event: Event
    text: str


class Notices:
    """The log lines of one account. Safe from any thread.

    Args:
        provider: the service.
        account: account key; it reveals no credential.
        interval_s: the least time between two lines of one event.
        clock: monotonic seconds.
        later: how a held back change of state is said after all; None: with the next one.
    """

    def __init__(
        self,
        provider: str,
        account: str,
        *,
        interval_s: float = INTERVAL_S,
        clock: Callable[[], float] = monotonic,
        later: Later | None = None,
    ) -> None:
        self._provider = provider
        self._account = account
        self._interval_s = interval_s
        self._clock = clock
        self._later = later
        self._lock = threading.Lock()
        self._said_at: dict[Event, float] = {}
        self._suppressed: dict[Event, int] = {}
        self._state: dict[str, Event] = {}
        self._said_state: dict[str, Event] = {}
        self._waiting: dict[str, _Line] = {}

    def say(self, event: Event, text: str) -> None:
        """Say that something happened, unless it was said within the last minute."""
        with self._lock:
            if self._wait_s(event) > 0:
                self._suppressed[event] = self._suppressed.get(event, 0) + 1
                return
            suppressed = self._take(event)
        self._log(_Line(event, text), suppressed)

    def enter(self, event: Event, text: str) -> None:
        """Say that a state was entered, unless it stood before; now, or as soon as a line may be written."""
        line, topic = _Line(event, text), event.topic
        with self._lock:
            before = self._state.get(topic)
            if before is event or (before is None and event in GOOD):
                return
            self._state[topic] = event
            wait_s = self._wait_s(event)
            if wait_s > 0:
                self._hold(line, wait_s)
                return
            self._waiting.pop(topic, None)
            suppressed = self._take(event)
        self._log(line, suppressed)

    def _hold(self, line: _Line, wait_s: float) -> None:
        topic = line.event.topic
        self._suppressed[line.event] = self._suppressed.get(line.event, 0) + 1
        self._waiting[topic] = line
        if self._later is not None:
            self._later(wait_s, lambda: self._catch_up(topic))

    def _catch_up(self, topic: str) -> None:
        """Say the state of a topic, where the last line about it is not true any more."""
        with self._lock:
            line = self._waiting.pop(topic, None)
            if line is None or self._said_state.get(topic) is line.event:
                return
            wait_s = self._wait_s(line.event)
            if wait_s > 0:
                self._waiting[topic] = line
                if self._later is not None:
                    self._later(wait_s, lambda: self._catch_up(topic))
                return
            self._suppressed[line.event] = max(0, self._suppressed.get(line.event, 0) - 1)
            suppressed = self._take(line.event)
        self._log(line, suppressed)

    def _wait_s(self, event: Event) -> float:
        said_at = self._said_at.get(event)
        return 0.0 if said_at is None else said_at + self._interval_s - self._clock()

    def _take(self, event: Event) -> int:
        """Note that a line of this event is written now; return how many were held back before it."""
        self._said_at[event] = self._clock()
        self._said_state[event.topic] = event
        return self._suppressed.pop(event, 0)

    def _log(self, line: _Line, suppressed: int) -> None:
        event = line.event
        more = f" ({suppressed} more since the last such line)" if suppressed else ""
        extra = {
            "event": event.value,
            "provider": self._provider,
            "account": self._account,
            "suppressed": suppressed,
            **(current_ids() or {}),
        }
        logging.getLogger(f"memotel.{event.topic}").log(
            level_of(event), "%s: %s: %s%s", event, self._provider, line.text, more, extra=extra
        )


def notices_of(provider: str, account: str) -> Notices:
    """Return what speaks for an account in this process, the same for all who ask.

    It outlives the account's clients, so that one client for each turn is no line for each turn; the newest `MOST` stay.
    """
    now = runtime.current()
    with now.lock:
        if account not in now.notices:
            if len(now.notices) >= MOST:
                del now.notices[next(iter(now.notices))]
            now.notices[account] = Notices(provider, account, later=_on_loop(now.loop))
        found: Notices = now.notices[account]
        return found


def _on_loop(loop: runtime.BackgroundLoop) -> Later:
    def later(wait_s: float, function: Callable[[], None]) -> None:
        loop.call_soon(lambda: asyncio.get_running_loop().call_later(wait_s, function))

    return later
