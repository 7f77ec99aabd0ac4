"""MemorySync for AG2 agents, under the names that its users know; everything is in `memotel.ag2`."""

from memotel.ag2 import (
    DEFAULT_CONTEXT_TEMPLATE,
    MemorySyncAPIError,
    MemorySyncCapability,
    register_memory_tools,
)
from memotel.backends.fingerprints import fnv1a64

__all__ = [
    "DEFAULT_CONTEXT_TEMPLATE",
    "MemorySyncAPIError",
    "MemorySyncCapability",
    "fnv1a64",
    "register_memory_tools",
]
