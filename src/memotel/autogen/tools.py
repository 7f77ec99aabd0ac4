"""Memory as tools: `search_memory` and `save_memory`, for agents that decide themselves when to look and what to keep.

A failure is one short honest sentence to the model, never an exception into the tool loop. A dump of these tools holds
the memory's own configuration, not source code.
"""

from typing import TYPE_CHECKING, Annotated, Any, Self

from memotel.autogen.compat import (
    HAS_AUTOGEN,
    BaseModel,
    CancellationToken,
    ComponentModel,
    MemoryContent,
    MemoryMimeType,
)
from memotel.autogen.memory import AgentMemory
from memotel.errors import ConfigurationError, MemotelError
from memotel.outcomes import WriteOutcome
from memotel.policy.hygiene import one_line
from memotel.wording import kind_of

if TYPE_CHECKING or HAS_AUTOGEN:
    from autogen_core.tools import FunctionTool
else:

    class FunctionTool:
        """Stands for AutoGen's class, which cannot be imported here."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            raise ConfigurationError("memory tools need autogen-core: install 'memotel[autogen]'")


MOST_RESULTS = 20


class MemoryToolConfig(BaseModel):
    """A dumped memory tool: the memory behind it."""

    memory: ComponentModel


class _MemoryTool(FunctionTool):
    """A function tool over a memory."""

    component_config_schema = MemoryToolConfig  # type: ignore[assignment] # a memory in place of source code

    def __init__(self, memory: AgentMemory, function: Any, description: str) -> None:
        super().__init__(function, description=description)
        self.memory = memory

    def _to_config(self) -> MemoryToolConfig:  # type: ignore[override] # as above
        return MemoryToolConfig(memory=self.memory.dump_component())

    @classmethod
    def _from_config(cls, config: MemoryToolConfig) -> Self:  # type: ignore[override] # as above
        return cls(AgentMemory.load_component(config.memory))  # type: ignore[call-arg] # each subclass takes a memory


class SearchMemoryTool(_MemoryTool):
    """The tool `search_memory(query, limit=5)`."""

    component_provider_override = "memotel.autogen.tools.SearchMemoryTool"

    def __init__(self, memory: AgentMemory) -> None:
        async def search_memory(
            query: Annotated[str, "What to look for, in plain words"],
            cancellation_token: CancellationToken,
            limit: Annotated[int, f"Most results, 1 to {MOST_RESULTS}"] = 5,
        ) -> str:
            return await search_for_model(memory, query, limit, cancellation_token)

        super().__init__(
            memory, search_memory, "Search long-term memory for what is known about the user."
        )


class SaveMemoryTool(_MemoryTool):
    """The tool `save_memory(text)`."""

    component_provider_override = "memotel.autogen.tools.SaveMemoryTool"

    def __init__(self, memory: AgentMemory) -> None:
        async def save_memory(
            text: Annotated[str, "One fact worth remembering, as a full sentence"],
            cancellation_token: CancellationToken,
        ) -> str:
            return await save_for_model(memory, text, cancellation_token)

        super().__init__(
            memory, save_memory, "Save one fact to long-term memory, for later conversations."
        )


def create_memory_tools(memory: AgentMemory) -> list[FunctionTool]:
    """Return the tools `search_memory` and `save_memory` over a memory: `AssistantAgent(..., tools=[...])`.

    Raises TypeError for an object that is no memory.
    """
    given: object = memory
    if not isinstance(given, AgentMemory):
        raise TypeError(f"memory must be a RekallMemory or MemorySyncMemory, not {kind_of(given)}")
    return [SearchMemoryTool(memory), SaveMemoryTool(memory)]


async def search_for_model(
    memory: AgentMemory, query: str, limit: int, token: CancellationToken | None
) -> str:
    """Return what a search found, one line an item, or a sentence that says why there is none."""
    if not query.strip():
        return "The query was empty; say what to look for."
    try:
        found = await memory.query(query, token, limit=max(1, min(limit, MOST_RESULTS)))
    except MemotelError as error:
        return f"Memory could not be searched ({error.outcome}); answer without it."
    lines = [f"- {_one_line(item.content)}" for item in found.results]
    return "\n".join(lines) or "Nothing in memory matches."


async def save_for_model(memory: AgentMemory, text: str, token: CancellationToken | None) -> str:
    """Save a text and return a sentence that says what became of it; begins with Saved or Accepted if it is kept."""
    if not text.strip():
        return "The text was empty; nothing was saved."
    try:
        answer = await memory.deliver(_plain(text), "save_memory", token)
    except MemotelError as error:
        return f"Not saved: the memory service refused or could not take it ({error.outcome})."
    return _SAVED[answer.outcome] if answer is not None else ACCEPTED


ACCEPTED = "Accepted; it will be saved as soon as possible."
_NOT_KEPT = "Not saved."
_SAVED = {
    WriteOutcome.STORED: "Saved.",
    WriteOutcome.DUPLICATE: "Saved; it was known already.",
    WriteOutcome.IGNORED: "Not saved: the memory service found nothing in it to keep.",
    WriteOutcome.QUOTA: "Accepted; it will be saved when the memory plan has room again.",
    WriteOutcome.REJECTED: _NOT_KEPT,
    WriteOutcome.EXPIRED: _NOT_KEPT,
    WriteOutcome.DROPPED: "Not saved: saving is switched off, or this text may not be kept.",
}


def _plain(text: str) -> MemoryContent:
    return MemoryContent(content=text, mime_type=MemoryMimeType.TEXT)


def _one_line(content: object) -> str:
    return one_line(str(content))
