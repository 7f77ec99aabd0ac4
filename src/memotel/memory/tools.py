"""Memory as two functions that a model may call: both answer with a sentence, whatever happens."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Self

from memotel.errors import MemotelError
from memotel.memory.surface import MemorySurface
from memotel.outcomes import Outcome, WriteOutcome
from memotel.policy.hygiene import one_line
from memotel.values import Json, WriteAnswer
from memotel.wording import kind_of

MAX_LIMIT = 50

QUERY = "What to look for in the memory of this user"
LIMIT = f"How many memories at most, from 1 to {MAX_LIMIT}"
FACT = "One fact to remember about this user, as a full sentence"

Query = Annotated[str, QUERY]
Limit = Annotated[int, LIMIT]
Fact = Annotated[str, FACT]

SEARCH_DESCRIPTION = "Search what is remembered about this user."
SAVE_DESCRIPTION = "Remember a fact about this user for later conversations."


@dataclass(frozen=True, slots=True)
class MemoryTools:
    """The tools of one memory. The last two do not block the event loop they are called on."""

    search_memory: Callable[..., str]
    save_memory: Callable[..., str]
    asearch_memory: Callable[..., Awaitable[str]]
    asave_memory: Callable[..., Awaitable[str]]


def memory_tools(memory: MemorySurface) -> MemoryTools:
    """Return the tools of a memory as plain functions. Raises TypeError for an object that is no memory."""
    given: object = memory
    if not isinstance(given, MemorySurface):
        raise TypeError(f"memory must be one of memotel's, not {kind_of(given)}")

    def search_memory(query: Query, limit: Limit = 5) -> str:
        """Search what is remembered about this user."""
        with _Answer("Memory could not be searched") as answer:
            _check_search(query, limit)
            answer.text = _listed(memory.search(query, limit=limit))
        return answer.text

    def save_memory(text: Fact) -> str:
        """Remember a fact about this user for later conversations."""
        with _Answer("Not saved") as answer:
            _check_text("text", text)
            answer.text = _kept(memory.remember(text))
        return answer.text

    async def asearch_memory(query: Query, limit: Limit = 5) -> str:
        """Search what is remembered about this user."""
        with _Answer("Memory could not be searched") as answer:
            _check_search(query, limit)
            answer.text = _listed(await memory.asearch(query, limit=limit))
        return answer.text

    async def asave_memory(text: Fact) -> str:
        """Remember a fact about this user for later conversations."""
        with _Answer("Not saved") as answer:
            _check_text("text", text)
            answer.text = _kept(await memory.aremember(text))
        return answer.text

    return MemoryTools(search_memory, save_memory, asearch_memory, asave_memory)


class _UnusableArgumentError(MemotelError):
    """The model called a tool with an argument that cannot be used; the message says what is allowed."""


class _Answer:
    """The sentence that a tool answers with: what came of it, or why nothing did."""

    def __init__(self, failure: str) -> None:
        self.text = ""
        self._failure = failure

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if not isinstance(error, MemotelError):
            return False
        reason = _REASONS.get(error.outcome, "the memory service cannot be reached now")
        if isinstance(error, _UnusableArgumentError):
            reason = str(error)
        self.text = f"{self._failure}: {reason}."
        return True


def _check_search(query: object, limit: object) -> None:
    is_whole = isinstance(limit, int) and not isinstance(limit, bool)
    if not is_whole or not 1 <= int(str(limit)) <= MAX_LIMIT:
        raise _UnusableArgumentError(f"limit must be a whole number from 1 to {MAX_LIMIT}")
    _check_text("query", query)


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str) or not text.strip():
        raise _UnusableArgumentError(f"{name} must be a text that is not empty")


def _listed(records: list[dict[str, Json]]) -> str:
    lines = [f"- {one_line(text)}" for record in records if (text := _text(record))]
    return "\n".join(lines) or "No memories found."


def _text(record: dict[str, Json]) -> str:
    keys = ("value", "text", "raw_text", "content")
    return next((found for key in keys if isinstance(found := record.get(key), str) and found), "")


_KEPT = {
    WriteOutcome.STORED: "Saved to memory.",
    WriteOutcome.DUPLICATE: "Saved already: memory has this.",
    WriteOutcome.IGNORED: "Not saved: the memory service found nothing worth keeping in it.",
    WriteOutcome.QUOTA: "Not saved: the memory service's quota is used up.",
}


def _kept(answer: WriteAnswer) -> str:
    return _KEPT.get(answer.outcome, "Not saved: the memory service did not accept it.")


_REASONS = {
    Outcome.TIMEOUT: "the memory service did not answer in time",
    Outcome.RATE_LIMITED: "the memory service asks to wait",
    Outcome.QUOTA: "the memory service's quota is used up",
    Outcome.REJECTED: "the memory service rejected it",
}
