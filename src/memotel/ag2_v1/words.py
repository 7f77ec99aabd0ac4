"""What was said in AG2's requests, and how memory is shown in front of it.

Source: ag2 1.2.1, events/input_events.py, agent.py and tools/subagents/background.py, read November 2026.
"""

import copy
from collections.abc import Sequence

from ag2.events import BaseEvent, Input, ModelRequest, TextInput

_PLUMBING = ("Your previous response could not be validated by schema.", "Background task ")
"""How the texts begin that AG2 itself puts into requests."""


def words_of(request: ModelRequest) -> str:
    """Return the words in a request, those of several parts on lines of their own; "" where it has none.

    Left out: what AG2 asks the model itself (to repair an answer), and results of background tasks.
    """
    return "\n".join(text for part in request.parts if (text := _said(part))).strip()


def question_index(events: Sequence[BaseEvent]) -> int | None:
    """Return where the last request with words in it stands, or None."""
    for index in range(len(events) - 1, -1, -1):
        event = events[index]
        if isinstance(event, ModelRequest) and words_of(event):
            return index
    return None


def with_block(request: ModelRequest, block: str) -> ModelRequest:
    """Return a copy of `request` with `block` in front of its words; parts keep their number, order and kind."""
    shown = copy.copy(request)
    at = next(index for index, part in enumerate(request.parts) if _said(part))
    part = copy.copy(request.parts[at])
    if isinstance(part, TextInput):
        part.content = block + part.content
    shown.parts = [*request.parts[:at], part, *request.parts[at + 1 :]]
    return shown


def _said(part: Input) -> str:
    text = part.content if isinstance(part, TextInput) else ""
    return "" if text.startswith(_PLUMBING) or not text.strip() else text
