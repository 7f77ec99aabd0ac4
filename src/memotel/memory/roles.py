"""The setting that says whose words are kept."""

from collections.abc import Collection

from memotel.config import check
from memotel.outcomes import Speaker

_SPEAKERS = {Speaker.HUMAN.value: Speaker.HUMAN, Speaker.AI.value: Speaker.AI}


def kept_speakers(persist_roles: Collection[str]) -> frozenset[Speaker]:
    """Return whose words are kept, from `("human", "ai")` or a part of it; else raise a `ConfigurationError`."""
    given: object = persist_roles
    is_given = isinstance(given, Collection) and not isinstance(given, str)
    is_known = is_given and all(role in _SPEAKERS for role in persist_roles)
    check(is_known, "persist_roles", persist_roles, "a tuple of 'human' and 'ai'")
    return frozenset(_SPEAKERS[role] for role in persist_roles)
