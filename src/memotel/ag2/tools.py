"""Memory as two tools of AG2 agents."""

from collections.abc import Callable
from typing import Protocol

from memotel.ag2.base import Capability
from memotel.memory.tools import (
    SAVE_DESCRIPTION,
    SEARCH_DESCRIPTION,
    MemoryTools,
    memory_tools,
)
from memotel.wording import kind_of


class Caller(Protocol):
    """An agent whose model may call tools."""

    def register_for_llm(
        self, *, name: str, description: str
    ) -> Callable[[Callable[..., object]], object]:
        """Tell the model of a tool."""
        ...


class Executor(Protocol):
    """An agent that executes tool calls."""

    def register_for_execution(self, name: str) -> Callable[[Callable[..., object]], object]:
        """Have the agent execute a tool."""
        ...


def register_memory_tools(
    memory: Capability, *, caller: Caller, executor: Executor, is_async: bool = False
) -> MemoryTools:
    """Register `search_memory(query, limit=5)` and `save_memory(text)`; caller and executor may be one agent.

    `is_async` registers the twins that do not block the loop of an asynchronous chat, under the same names. Raises
    TypeError for what is no memory or no agent.
    """
    for role, agent, method in (
        ("caller", caller, "register_for_llm"),
        ("executor", executor, "register_for_execution"),
    ):
        if not callable(getattr(agent, method, None)):
            raise TypeError(f"{role} must be an AG2 ConversableAgent, not {kind_of(agent)}")
    tools = memory_tools(memory)
    search = tools.asearch_memory if is_async else tools.search_memory
    save = tools.asave_memory if is_async else tools.save_memory
    for name, description, tool in (
        ("search_memory", SEARCH_DESCRIPTION, search),
        ("save_memory", SAVE_DESCRIPTION, save),
    ):
        known = caller.register_for_llm(name=name, description=description)(tool)
        executor.register_for_execution(name=name)(known)  # type: ignore[arg-type] # AG2's own Tool
    return tools
