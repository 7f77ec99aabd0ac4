"""Memory for AutoGen AgentChat: `AssistantAgent(..., memory=[RekallMemory(...)])`."""

from memotel.autogen.services import MemorySyncMemory, RekallMemory
from memotel.autogen.surface import MemoryContext
from memotel.autogen.tools import create_memory_tools

__all__ = ["MemoryContext", "MemorySyncMemory", "RekallMemory", "create_memory_tools"]
