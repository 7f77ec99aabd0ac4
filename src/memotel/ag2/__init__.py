"""Memory for AG2 agents (classic `ConversableAgent`, `autogen` 0.10.5 to 0.14)."""

from memotel.ag2.capability import MemorySyncCapability, RekallCapability
from memotel.ag2.speakers import speaks_for_a_person
from memotel.ag2.tools import register_memory_tools
from memotel.memory.errors import MemorySyncAPIError
from memotel.memory.template import DEFAULT_CONTEXT_TEMPLATE

__all__ = [
    "DEFAULT_CONTEXT_TEMPLATE",
    "MemorySyncAPIError",
    "MemorySyncCapability",
    "RekallCapability",
    "register_memory_tools",
    "speaks_for_a_person",
]
