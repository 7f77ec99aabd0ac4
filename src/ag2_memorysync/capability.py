"""`MemorySyncCapability` and who speaks for a person, where users of `ag2_memorysync` look for them."""

from memotel.ag2 import MemorySyncCapability, speaks_for_a_person

__all__ = ["MemorySyncCapability", "speaks_for_a_person"]
