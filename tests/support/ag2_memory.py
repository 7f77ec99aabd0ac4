"""A memory client in memory, and a capability on it: for tests of the AG2 side alone."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from memotel.ag2.base import Capability
from memotel.counts import Counts
from memotel.errors import MemotelError
from memotel.memory.template import DEFAULT_CONTEXT_TEMPLATE
from memotel.notices import Notices
from memotel.outcomes import Adapter, Outcome, Provider, Speaker, WriteOutcome
from memotel.values import (
    FlushReport,
    Memories,
    Memory,
    RecallResult,
    Receipt,
    ReceiptStatus,
    Scope,
    Turn,
    WriteAnswer,
)

HEAD = "Relevant user memories (MemorySync):"


@dataclass(frozen=True)
class Asked:
    """One recall: how it was made, and for what."""

    kind: str
    scope: Scope
    prompt: str
    agent: str | None


@dataclass
class RecordingClient:
    """Answers every recall with `context`, keeps every turn with the history up to it."""

    context: str = "likes oolong tea"
    error: Exception | None = None
    provider: Provider = Provider.MEMORYSYNC
    adapter: Adapter = Adapter.AG2
    counts: Counts = field(default_factory=Counts)
    notices: Notices = field(default_factory=lambda: Notices("memorysync", "recording"))
    asked: list[Asked] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    histories: list[list[tuple[Speaker, str]]] = field(default_factory=list)
    saved: list[tuple[Scope, str]] = field(default_factory=list)
    is_paused: bool = False

    def recall(self, scope: Scope, prompt: str, *, agent: str | None = None) -> RecallResult:
        return self._answer("sync", scope, prompt, agent)

    async def arecall(self, scope: Scope, prompt: str, *, agent: str | None = None) -> RecallResult:
        await asyncio.sleep(0)
        return self._answer("async", scope, prompt, agent)

    def _answer(self, kind: str, scope: Scope, prompt: str, agent: str | None) -> RecallResult:
        self.asked.append(Asked(kind, scope, prompt, agent))
        if self.error is not None:
            raise self.error
        outcome = Outcome.HIT if self.context else Outcome.EMPTY
        return RecallResult(outcome, (), self.context)

    def write(
        self, turn: Turn, *, history: Sequence[tuple[Speaker, str]] = (), at: int = -1
    ) -> Receipt:
        if self.error is not None:
            raise self.error
        assert history[at] == (turn.speaker, turn.text)
        self.turns.append(turn)
        self.histories.append(list(history[: at + 1]))
        return Receipt(ReceiptStatus.ACCEPTED)

    def search(self, scope: Scope, query: str, **options: Any) -> Memories:
        del scope, query
        if isinstance(self.error, MemotelError):
            raise self.error
        memory = Memory(
            "m_1", self.context, 0.9, record={"memory_id": "m_1", "value": self.context}
        )
        return Memories((memory,)[: options.get("limit") or 5] if self.context else ())

    async def asearch(self, scope: Scope, query: str, **options: Any) -> Memories:
        await asyncio.sleep(0)
        return self.search(scope, query, **options)

    def save(self, scope: Scope, text: str, *, source: str = "") -> WriteAnswer:
        del source
        if isinstance(self.error, MemotelError):
            raise self.error
        self.saved.append((scope, text))
        return WriteAnswer(WriteOutcome.STORED, record={"id": 12, "text": text})

    async def asave(self, scope: Scope, text: str, *, source: str = "") -> WriteAnswer:
        await asyncio.sleep(0)
        return self.save(scope, text, source=source)

    def flush(self, timeout: float) -> FlushReport:
        del timeout
        return FlushReport(len(self.turns), 0, 0)

    async def aflush(self, timeout: float) -> FlushReport:
        return self.flush(timeout)

    def close(self, timeout: float) -> None:
        del timeout

    async def aclose(self, timeout: float) -> None:
        del timeout

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.is_paused = True
        yield
        self.is_paused = False

    @property
    def kept(self) -> list[tuple[str, str]]:
        """(speaker, words) of every turn in its order, each utterance once."""
        return list(dict.fromkeys((str(turn.speaker), turn.text) for turn in self.turns))


def memory_on(client: RecordingClient, **options: Any) -> Capability:
    """Return a capability for user ada, session s1, on a client in memory."""
    settings = {
        "template": DEFAULT_CONTEXT_TEMPLATE,
        "capture": "both",
        "persist_roles": ("human", "ai"),
        "source": "ag2",
        **options,
    }
    return Capability(client, scope=Scope("ada", "s1"), **settings)
