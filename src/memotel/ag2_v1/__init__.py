"""Memory for agents of AG2 1 (the package `ag2`); for classic AG2 (`autogen`) see `memotel.ag2`."""

from memotel.ag2_v1.services import MemorySyncMemory, RekallMemory
from memotel.memory.errors import MemorySyncAPIError
from memotel.memory.template import DEFAULT_CONTEXT_TEMPLATE

__all__ = [
    "DEFAULT_CONTEXT_TEMPLATE",
    "MemorySyncAPIError",
    "MemorySyncMemory",
    "RekallMemory",
]
