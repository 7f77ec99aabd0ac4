"""What MemorySync makes of a turn: whose it is, whether it holds anything, whether it came before.

Source: the service's public documentation, read in November 2026 (processing statuses, the
replay rule). Its exact low-value list is not public; the one here is ours.
"""

import json
import re
from enum import StrEnum
from typing import Final

REPLAY_WINDOW_S: Final = 30 * 24 * 3600.0

_LETTERS: Final = re.compile(r"[^\W_]+")
_SPEAKER_PREFIX: Final = re.compile(r"^(human|ai|user|assistant):\s*", re.IGNORECASE)
_LOW_VALUE: Final = frozenset(
    """ok|okay|k|kk|thanks|thank you|thanks a lot|thank you very much|thx|ty|yes|no|yep|yeah|nope
    |sure|great|cool|nice|fine|good|perfect|awesome|got it|i see|alright|right|hi|hello|hey|bye
    |goodbye|good morning|good night|lol|haha|hmm|please|continue|go on|done""".replace(
        "\n    ", ""
    ).split("|")
)


class Processing(StrEnum):
    """The ``processing_status`` of an ``add_turn`` answer."""

    DISTILLING = "distilling"
    SKIPPED_REPLAY = "skipped_replay"
    SKIPPED_NON_USER_TURN = "skipped_non_user_turn"
    SKIPPED_LOW_VALUE = "skipped_low_value"
    SKIPPED = "skipped"


def is_a_persons(role: str, speaker: str, text: str) -> bool:
    """Say whether a person spoke: by role, else by speaker, else by the text's prefix."""
    if role:
        return role.lower() in {"user", "human"}
    said_by = speaker.partition("@")[0] or text.partition(":")[0]
    return said_by.strip().lower() not in {"ai", "assistant", "system", "tool"}


def is_low_value(text: str) -> bool:
    """Say whether a text holds nothing durable: empty, no letter or digit, or mere courtesy."""
    words = " ".join(_LETTERS.findall(fact_of(text).lower()))
    return not words or words in _LOW_VALUE


def fact_of(text: str) -> str:
    """Return what was said, without the leading ``human: `` or ``ai: ``."""
    return _SPEAKER_PREFIX.sub("", text).strip()


def replay_key(speaker: str, occurred_at: str, text: str) -> str:
    """Return the key by which a turn is recognised within `REPLAY_WINDOW_S` for one user."""
    return json.dumps([speaker, occurred_at, text])
