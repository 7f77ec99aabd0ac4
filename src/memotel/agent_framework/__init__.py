"""Memory for agents of Microsoft's Agent Framework: `Agent(..., context_providers=[MemoryContextProvider(...)])`."""

try:
    import agent_framework as _framework
except ModuleNotFoundError as error:
    if error.name != "agent_framework":
        raise
    raise ModuleNotFoundError(
        "memotel.agent_framework needs Agent Framework: pip install 'memotel[agent_framework]'",
        name=error.name,
    ) from None

from memotel.agent_framework.provider import MemoryContextProvider
from memotel.agent_framework.tools import create_memory_tools

__all__ = ["MemoryContextProvider", "create_memory_tools"]

del _framework
