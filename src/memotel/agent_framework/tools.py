"""Memory as tools: `search_memory` and `save_memory`, for agents that decide themselves when to look and what to keep."""

from typing import Annotated

from agent_framework import FunctionTool

from memotel.memory.surface import MemorySurface
from memotel.memory.tools import (
    FACT,
    LIMIT,
    QUERY,
    SAVE_DESCRIPTION,
    SEARCH_DESCRIPTION,
    memory_tools,
)


def create_memory_tools(memory: MemorySurface) -> list[FunctionTool]:
    """Return `search_memory` and `save_memory` for `Agent(..., tools=[...])`; they answer with a sentence always."""
    functions = memory_tools(memory)

    async def search_memory(query: Annotated[str, QUERY], limit: Annotated[int, LIMIT] = 5) -> str:
        return await functions.asearch_memory(query, limit=limit)

    async def save_memory(text: Annotated[str, FACT]) -> str:
        return await functions.asave_memory(text)

    return [
        FunctionTool(name="search_memory", description=SEARCH_DESCRIPTION, func=search_memory),
        FunctionTool(name="save_memory", description=SAVE_DESCRIPTION, func=save_memory),
    ]
