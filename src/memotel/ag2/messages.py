"""AG2's message dictionaries: which one holds the question, what its words are, and how memory is shown in front.

Source: autogen 0.14.1, agentchat/conversable_agent.py and groupchat.py, read November 2026.
"""

import re
from collections.abc import Callable, Mapping, Sequence

Message = dict[str, object]

_TRAFFIC_KEYS = ("tool_calls", "function_call")
_TRAFFIC_ROLES = frozenset({"tool", "function", "system"})
_CODE_OUTPUT = re.compile(r"exitcode: -?\d+ \(execution (?:succeeded|failed)\)\nCode output:")
_HANDOFF = re.compile(r"\[Handing off to .+\]\Z")
_MARKERS = frozenset({"exit", "terminate"})
_CARRYOVER = "\nContext: \n"
_NESTED_CARRYOVER = re.compile(r"(?:\A|\n)Context:\n")


class ShownMessage(dict[str, object]):
    """A message as the model is shown it: memory in front of its words.

    Attributes:
        original: the message it stands for.
        shown_by: whoever put the memory there.
    """

    __slots__ = ("original", "shown_by")

    def __init__(self, message: Message, content: object, shown_by: object) -> None:
        super().__init__({**message, "content": content})
        self.original = message
        self.shown_by = shown_by

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle as the plain message that it looks like."""
        return dict, (dict(self),)

    def pop(self, key: str, *default: object) -> object:
        """Remove `key`; AG2 uses up a message's `context` this way, so it is used up in the original too."""
        if key == "context":
            self.original.pop(key, None)
        return super().pop(key, *default)


def text_of(message: Mapping[str, object]) -> str:
    """Return the text of a message, "" where it has none; text parts of a list are joined by line breaks.

    A callable content (AG2's template form) gives the text it renders for the message's own `context`.
    """
    return "\n".join(_texts(message))


def _texts(message: Mapping[str, object]) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return [text for part in content if (text := _part_text(part))]
    context = message.get("context")
    if callable(content) and context:
        return [str(content(context))]
    return []


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type") == "text":
        return str(part.get("text") or "")
    return ""


def is_tool_traffic(message: Mapping[str, object]) -> bool:
    """Whether the message is a call of a tool or function, or its result."""
    return message.get("role") in _TRAFFIC_ROLES or any(message.get(key) for key in _TRAFFIC_KEYS)


def question_index(messages: Sequence[Mapping[str, object]]) -> int | None:
    """Return where the last words of somebody else stand, or None: the message that memory is recalled for."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        is_plain = not is_tool_traffic(message) and not message.get("tool_responses")
        if is_plain and message.get("role", "user") == "user" and text_of(message).strip():
            return index
    return None


def show(message: Message, block: str, shown_by: object) -> Message:
    """Return `message` with `block` in front of its text; its shape (text, parts, template) stays.

    A message that already has a block from `shown_by` is returned as it is. An empty block changes no text: it only
    tells that `shown_by` was asked.
    """
    if is_shown_by(message, shown_by):
        return message
    content = message.get("content")
    if not block:
        return ShownMessage(message, content, shown_by)
    if isinstance(content, list):
        return ShownMessage(message, _parts_with(content, block), shown_by)
    if callable(content):
        return ShownMessage(message, _template_with(content, block), shown_by)
    return ShownMessage(message, f"{block}{content}", shown_by)


def is_shown_by(message: Message, shown_by: object) -> bool:
    """Whether `shown_by` has put memory in front of this message."""
    while isinstance(message, ShownMessage):
        if message.shown_by is shown_by:
            return True
        message = message.original
    return False


def original_of(message: Message) -> Message:
    """Return the message as it was before any memory was shown with it."""
    while isinstance(message, ShownMessage):
        message = message.original
    return message


def _parts_with(parts: list[object], block: str) -> list[object]:
    first = next(index for index, part in enumerate(parts) if _part_text(part))
    return [*parts[:first], {"type": "text", "text": block}, *parts[first:]]


def _template_with(template: Callable[[object], object], block: str) -> Callable[[object], str]:
    return lambda context: f"{block}{template(context)}"


def withdraw(messages: list[Message]) -> None:
    """Put every original back in place of what was shown."""
    for index, message in enumerate(messages):
        if isinstance(message, ShownMessage):
            messages[index] = original_of(message)


def words_of(message: Mapping[str, object], *, is_first: bool = False) -> str:
    """Return the words that somebody said with this message, "" where it is only plumbing.

    Plumbing: tool traffic, output of executed code, exit and termination markers alone, handoffs, and what AG2
    carries over from another chat (`is_first`: the message opens its conversation, as nested chats' do).
    """
    if is_tool_traffic(message):
        return ""
    text = "\n".join(part.partition(_CARRYOVER)[0] for part in _texts(message))
    if is_first:
        text = _NESTED_CARRYOVER.split(text, maxsplit=1)[0]
    text = text.strip()
    is_plumbing = (
        text.rstrip(".!").lower() in _MARKERS or _CODE_OUTPUT.match(text) or _HANDOFF.match(text)
    )
    return "" if is_plumbing else text
