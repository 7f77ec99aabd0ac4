"""The names of `autogen_core` that this package uses, or stand-ins where it is not installed.

`HAS_AUTOGEN` says which. Everything else in the package imports them from here.
"""

from importlib import import_module
from typing import TYPE_CHECKING


def _is_importable(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True


HAS_AUTOGEN = _is_importable("autogen_core.memory")

if TYPE_CHECKING or HAS_AUTOGEN:
    from autogen_core import CancellationToken, Component, ComponentModel
    from autogen_core.memory import (
        Memory,
        MemoryContent,
        MemoryMimeType,
        MemoryQueryResult,
        UpdateContextResult,
    )
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import LLMMessage, SystemMessage, UserMessage
    from pydantic import BaseModel
else:
    from typing import Any

    from memotel.autogen.plain import (
        BaseModel,
        ChatCompletionContext,
        Component,
        ComponentModel,
        Memory,
        MemoryContent,
        MemoryMimeType,
        MemoryQueryResult,
        SystemMessage,
        UpdateContextResult,
        UserMessage,
    )

    CancellationToken = Any
    LLMMessage = Any

__all__ = [
    "HAS_AUTOGEN",
    "BaseModel",
    "CancellationToken",
    "ChatCompletionContext",
    "Component",
    "ComponentModel",
    "LLMMessage",
    "Memory",
    "MemoryContent",
    "MemoryMimeType",
    "MemoryQueryResult",
    "SystemMessage",
    "UpdateContextResult",
    "UserMessage",
]
