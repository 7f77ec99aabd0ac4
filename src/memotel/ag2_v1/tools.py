"""Memory as two tools of an AG2 agent."""

from typing import Annotated

from ag2.tools import tool
from ag2.tools.final import FunctionTool
from pydantic import Field

from memotel.memory.surface import MemorySurface
from memotel.memory.tools import (
    FACT,
    LIMIT,
    QUERY,
    SAVE_DESCRIPTION,
    SEARCH_DESCRIPTION,
    memory_tools,
)

Query = Annotated[str, Field(description=QUERY)]
Limit = Annotated[int, Field(description=LIMIT)]
Fact = Annotated[str, Field(description=FACT)]


def tools_of(memory: MemorySurface) -> list[FunctionTool]:
    """Return `search_memory` and `save_memory`, which answer with a sentence and block no event loop."""
    functions = memory_tools(memory)

    async def search_memory(query: Query, limit: Limit = 5) -> str:
        return await functions.asearch_memory(query, limit=limit)

    async def save_memory(text: Fact) -> str:
        return await functions.asave_memory(text)

    return [
        tool(search_memory, description=SEARCH_DESCRIPTION),
        tool(save_memory, description=SAVE_DESCRIPTION),
    ]
