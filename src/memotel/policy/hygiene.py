"""What goes out as a prompt and what comes in as context: cut to size, filtered, free of control characters."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from memotel.config import Redact
from memotel.values import Memories, Memory

_BREAK = re.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROL = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff"
    r"\u034f\u061c\u200e\u200f\U000e0000-\U000e007f]"
)


@dataclass(frozen=True, slots=True)
class Cut:
    """A text of bounded size, and whether something was left out."""

    text: str
    is_cut: bool


def clean(text: str) -> str:
    """Return `text` without control characters and direction overrides; line breaks of any kind and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROL.sub("", _BREAK.sub("\n", text))


def one_line(text: str) -> str:
    """Return `text` clean, and as one line: what an item of a list may be made of."""
    return " ".join(clean(text).split())


def redacted(
    text: str, redact: Redact | None, on_error: Callable[[Exception], object] = id
) -> str | None:
    """Return `text` as the user's `redact` leaves it; None where it withholds the text or fails."""
    if redact is None:
        return text
    try:
        result = redact(text)
    except Exception as error:  # noqa: BLE001 # words that could not be redacted must not leave
        on_error(error)
        return None
    return result if isinstance(result, str) else None


def cut_prompt(text: str, max_chars: int) -> Cut:
    """Return at most `max_chars` characters of `text`, cut at a word where there is one."""
    if len(text) <= max_chars:
        return Cut(text, False)
    head = text[:max_chars]
    if not text[max_chars].isspace():
        at = max(head.rfind(" "), head.rfind("\n"))
        head = head[:at] if at > max_chars // 2 else head
    return Cut(head.rstrip(), True)


def relevant(found: Memories, min_score: float | None, prompt: str = "") -> Memories:
    """Return what scores at least `min_score` and is not the prompt itself; a memory without a score stays.

    The question may have been kept a moment ago; shown as a memory it would only repeat itself. Where something is
    taken away, the service's ready block goes too, since it shows all.
    """
    asked = _bare(prompt)
    kept = tuple(m for m in found.items if _is_wanted(m, min_score) and _bare(m.text) != asked)
    return found if len(kept) == len(found.items) else replace(found, items=kept, context="")


def _is_wanted(memory: Memory, min_score: float | None) -> bool:
    return min_score is None or memory.score is None or memory.score >= min_score


def _bare(text: str) -> str:
    """Return the words alone: without the speaker that a turn is stored under, spaces and case."""
    return " ".join(text.removeprefix("human: ").removeprefix("ai: ").split()).casefold()


def build_context(found: Memories, max_chars: int) -> Cut:
    """Return the text to show the model: the service's ready block where it fits, else a list of whole memories.

    A memory that does not fit makes room for the next; where none fits, the first is cut.
    """
    block = clean(found.context).strip()
    if block and (len(block) <= max_chars or not found.items):
        return _cut_lines(block, max_chars)
    lines: list[str] = []
    room = max_chars
    for memory in found.items:
        line = "- " + one_line(memory.text)
        if len(line) <= room:
            lines.append(line)
            room -= len(line) + 1
    if found.items and not lines:
        first = "- " + one_line(found.items[0].text)
        return Cut(first[:max_chars], True)
    return Cut("\n".join(lines), len(lines) < len(found.items))


def _cut_lines(block: str, max_chars: int) -> Cut:
    if len(block) <= max_chars:
        return Cut(block, False)
    head = block[: max_chars + 1]
    at = head.rfind("\n")
    return Cut(head[:at] if at > 0 else head[:max_chars], True)
