"""Stand-ins for the few names of `autogen_core` that a memory needs, used where it is not installed.

They have the same names and fields, so code written against one works with the other; nothing validates.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Generic, Literal, TypeVar

T = TypeVar("T")


class BaseModel:
    """Stands for pydantic's `BaseModel`; only its name is needed."""


class Memory:
    """Stands for `autogen_core.memory.Memory`."""

    component_type: ClassVar[str] = "memory"


class Component(Generic[T]):
    """Stands for `autogen_core.Component`; there is nothing to dump into."""


class ChatCompletionContext:
    """Stands for `autogen_core.model_context.ChatCompletionContext`."""

    component_type: ClassVar[str] = "chat_completion_context"

    def __init__(self, initial_messages: list[Any] | None = None) -> None:
        self._messages = list(initial_messages or [])


class ComponentModel(BaseModel):
    """Stands for `autogen_core.ComponentModel`."""


class MemoryMimeType(Enum):
    """MIME types of memory content."""

    TEXT = "text/plain"
    JSON = "application/json"
    MARKDOWN = "text/markdown"
    IMAGE = "image/*"
    BINARY = "application/octet-stream"


@dataclass
class MemoryContent:
    """One item of memory."""

    content: Any
    mime_type: MemoryMimeType | str
    metadata: dict[str, Any] | None = None


@dataclass
class MemoryQueryResult:
    """What a query found."""

    results: list[MemoryContent]


@dataclass
class UpdateContextResult:
    """What a context was shown."""

    memories: MemoryQueryResult


@dataclass
class SystemMessage:
    """A message with instructions to the model."""

    content: str
    type: Literal["SystemMessage"] = "SystemMessage"


@dataclass
class UserMessage:
    """A message to the model."""

    content: Any
    source: str
    type: Literal["UserMessage"] = "UserMessage"
