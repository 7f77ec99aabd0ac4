"""The block of memory text that is put in front of a person's words, and how it is told apart from them."""

import re
from dataclasses import dataclass
from functools import lru_cache

from memotel.config import check

DEFAULT_CONTEXT_TEMPLATE = "Relevant user memories (MemorySync):\n{context}\n\n"
REKALL_CONTEXT_TEMPLATE = "Relevant memories (Rekall):\n{context}\n\n"

_PLACE = "{context}"
_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_REMOVED = "[...]"


@dataclass(frozen=True, slots=True)
class ContextTemplate:
    """A text with `{context}` in it, which is replaced and never formatted: braces in memory are just braces."""

    text: str = DEFAULT_CONTEXT_TEMPLATE

    def __post_init__(self) -> None:
        given: object = self.text
        is_usable = isinstance(given, str) and _PLACE in given
        check(is_usable, "context_template", given, "a text that holds {context}")

    @property
    def head(self) -> str:
        """What stands before the memories."""
        return self.text.partition(_PLACE)[0]

    @property
    def tail(self) -> str:
        """What stands after the memories."""
        return self.text.partition(_PLACE)[2]

    def render(self, context: str) -> str:
        """Return the block for `context`, or "" where there is nothing to show.

        Memories cannot end the block early or begin another: blank lines and copies of the template's own head
        and tail are taken out of them.
        """
        inner = self._harmless(context).strip()
        return self.text.replace(_PLACE, inner) if inner else ""

    def words_after(self, text: str) -> str:
        """Return `text` without a block of this template in front of it."""
        head, tail = self.head, self.tail
        if not head.strip() or not text.startswith(head):
            return text
        _, found, rest = text[len(head) :].partition(tail if tail.strip(" ") else "\n\n")
        return rest if found else ""

    def _harmless(self, context: str) -> str:
        inner = _BLANK_LINES.sub("\n", context)
        delimiters = _delimiters(self.head.strip(), self.tail.strip())
        return delimiters.sub(_REMOVED, inner) if delimiters else inner


@lru_cache(maxsize=1_000)
def _delimiters(head: str, tail: str) -> re.Pattern[str] | None:
    parts = [re.escape(part) for part in (head, tail) if part]
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None
