"""A service that answers each write as it is told, and remembers what it stored. Runs on the test's own loop."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

from virtual_loop import LoopHere, VirtualLoop

from memotel.calls import Call
from memotel.config import OutboxPolicy, WritePolicy
from memotel.counts import Counts
from memotel.errors import ServiceUnavailableError
from memotel.outcomes import Adapter, Provider, QuotaEvidence, Speaker, WriteOutcome
from memotel.values import Scope, Turn, Write, WriteAnswer
from memotel.writes.clocks import Clocks
from memotel.writes.drain import Gates
from memotel.writes.history import History
from memotel.writes.outbox import Outbox
from memotel.writes.path import WritePath

Reply = WriteAnswer | Exception
Script = Callable[[Write, int], Reply]
"""What to answer to the n-th attempt (from 1) of a write."""

STORED = WriteAnswer(WriteOutcome.STORED, QuotaEvidence.HEALTHY, record_id="1")
OVER_QUOTA = WriteAnswer(WriteOutcome.QUOTA, QuotaEvidence.SILENT)


def unavailable(status: int = 503, retry_after_s: float | None = None) -> ServiceUnavailableError:
    return ServiceUnavailableError("down", status_code=status, retry_after_s=retry_after_s)


def always_stored(write: Write, attempt: int) -> Reply:
    del write, attempt
    return STORED


@dataclass
class ScriptedService:
    """Takes `latency_s` for each send. `sent` and `stored` list texts in order; `times` when each send began."""

    script: Script = always_stored
    latency_s: float = 0.01
    sent: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    most_in_flight: int = 0

    async def __call__(self, call: Call) -> WriteAnswer:
        write = cast("Write", call.request)
        self.calls.append(call)
        self.sent.append(write.turn.text)
        self.times.append(asyncio.get_running_loop().time())
        self.attempts[write.key] += 1
        reply = self.script(write, self.attempts[write.key])
        with self._passing():
            await asyncio.sleep(self.latency_s)
        if isinstance(reply, Exception):
            raise reply
        if reply.outcome is WriteOutcome.STORED:
            self.stored.append(write.turn.text)
        return reply

    def _passing(self) -> "_Passing":
        return _Passing(self)


class _Passing:
    def __init__(self, service: ScriptedService) -> None:
        self._service = service

    def __enter__(self) -> None:
        self._service.in_flight += 1
        self._service.most_in_flight = max(self._service.most_in_flight, self._service.in_flight)

    def __exit__(self, *_: object) -> None:
        self._service.in_flight -= 1


def turn(text: str, session: str = "s", user: str = "u", **more: object) -> Turn:
    speaker = more.pop("speaker", Speaker.HUMAN)
    return Turn(Scope(user, session), cast("Speaker", speaker), text, **more)  # type: ignore[arg-type] # fields of Turn


@dataclass
class Desk:
    """A write path over a scripted service, in virtual time."""

    path: WritePath
    service: ScriptedService
    counts: Counts
    loop: VirtualLoop

    def say(self, *texts: str, session: str = "s", history: History | None = None) -> None:
        for text in texts:
            self.path.accept(turn(text, session), Adapter.DIRECT, history)

    async def rest(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    def ended(self) -> dict[WriteOutcome, int]:
        return {o: n for o, n in self.path.stats().totals.ended.items() if n}


def desk(
    loop: VirtualLoop,
    script: Script = always_stored,
    *,
    policy: WritePolicy | None = None,
    outbox: OutboxPolicy | None = None,
    gates: Gates | None = None,
    rng: Callable[[], float] = lambda: 1.0,
    account: str = "account",
    outbox_on_disk: Outbox | None = None,
    **options: object,
) -> Desk:
    service, counts = ScriptedService(script), Counts()
    path = WritePath(
        account,
        Provider.MEMORYSYNC,
        policy=policy or WritePolicy(),
        outbox_policy=outbox or OutboxPolicy(),
        counts=counts,
        loop=LoopHere(loop),
        send=service,
        gates=gates,
        rng=rng,
        clocks=Clocks(loop.time, loop.time),
        drains_at_exit=False,
        outbox=outbox_on_disk,
        **options,  # type: ignore[arg-type] # further arguments of WritePath
    )
    return Desk(path, service, counts, loop)


def replies(*script: Reply) -> Script:
    """Answer the attempts of each write with these in turn, then store."""

    def reply(write: Write, attempt: int) -> Reply:
        del write
        return script[attempt - 1] if attempt <= len(script) else STORED

    return reply


def numbered(count: int, prefix: str = "t") -> Iterator[str]:
    return (f"{prefix}{index}" for index in range(count))
