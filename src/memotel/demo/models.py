"""A model without a network: it answers from the memory block that it is shown, and from nothing else."""

import re
import threading
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelCapabilities,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    UserMessage,
)

_WORD = re.compile(r"[a-z]+")
_COMMON = frozenset(
    [
        "the",
        "a",
        "an",
        "is",
        "my",
        "i",
        "in",
        "do",
        "does",
        "of",
        "to",
        "on",
        "what",
        "where",
        "when",
        "who",
        "which",
        "did",
        "for",
        "am",
        "and",
        "that",
    ]
)
_SPEAKER = re.compile(r"^[-*\s]*(?:human:\s*)?")


def words(text: str) -> frozenset[str]:
    """Return the words of a text that carry meaning."""
    return frozenset(_WORD.findall(text.lower())) - _COMMON


def reply_to(message: str, shown: str) -> str:
    """Answer `message` from the memories in `shown`, one a line; say so where they hold no answer."""
    if not message.rstrip().endswith("?"):
        return "I will keep that in mind."
    wanted = words(message)
    lines = [_SPEAKER.sub("", line).strip() for line in shown.splitlines()]
    statements = [line for line in lines if line and not line.endswith("?")]
    best = max(statements, key=lambda line: len(wanted & words(line)), default="")
    if not wanted & words(best):
        return "I do not know that yet."
    return f"You told me: {best}"


class Asked:
    """When a model was last asked in each thread or task group; the end of what a person waits for memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at: dict[str, float] = {}

    def note(self, who: str) -> None:
        """Note that `who` is asked now."""
        with self._lock:
            self._at[who] = time.perf_counter()

    def since(self, who: str, started_at: float) -> float:
        """Return the seconds from `started_at` until `who` was asked."""
        with self._lock:
            return max(0.0, self._at.get(who, started_at) - started_at)


class Ag2Model:
    """The model in the shape of AG2's `ModelClient`."""

    def __init__(self, config: Mapping[str, Any], *, asked: Asked, who: str, **_: Any) -> None:
        self._asked = asked
        self._who = who

    def create(self, params: Mapping[str, Any]) -> SimpleNamespace:
        """Answer the last message; a memory block stands in front of its text."""
        self._asked.note(self._who)
        content = params["messages"][-1].get("content") or ""
        shown, _, message = content.rpartition("\n\n")
        text = reply_to(message, shown)
        choice = SimpleNamespace(
            message=SimpleNamespace(content=text, function_call=None, tool_calls=None)
        )
        return SimpleNamespace(choices=[choice], model="demo", cost=0.0)

    def message_retrieval(self, response: SimpleNamespace) -> list[str]:
        """Return the texts of a response."""
        return [choice.message.content for choice in response.choices]

    def cost(self, response: SimpleNamespace) -> float:  # AG2 calls it with the response
        """Nothing is paid for this model."""
        return 0.0

    @staticmethod
    def get_usage(response: SimpleNamespace) -> dict[str, Any]:  # as above
        """No tokens are counted."""
        return {}


class AutoGenModel(ChatCompletionClient):
    """The model in the shape of AutoGen's `ChatCompletionClient`."""

    component_type = "model"

    def __init__(self, asked: Asked, who: str) -> None:
        self._asked = asked
        self._who = who

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        """Answer the last user message from the system messages."""
        self._asked.note(self._who)
        shown = "\n".join(m.content for m in messages if m.type == "SystemMessage")
        spoken = [
            m.content for m in messages if isinstance(m, UserMessage) and isinstance(m.content, str)
        ]
        text = reply_to(spoken[-1] if spoken else "", shown)
        return CreateResult(
            finish_reason="stop", content=text, usage=RequestUsage(0, 0), cached=False
        )

    async def create_stream(
        self, messages: Sequence[LLMMessage], **options: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Yield the whole answer at once."""
        yield await self.create(messages, **options)

    async def close(self) -> None:
        """Nothing is open."""

    def actual_usage(self) -> RequestUsage:
        """No tokens are counted."""
        return RequestUsage(0, 0)

    total_usage = actual_usage

    def count_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:  # as the class asks
        """No tokens are counted."""
        return 0

    remaining_tokens = count_tokens

    @property
    def model_info(self) -> ModelInfo:
        """Text in, text out."""
        return ModelInfo(
            vision=False,
            function_calling=False,
            json_output=False,
            family=ModelFamily.UNKNOWN,
            structured_output=False,
        )

    @property
    def capabilities(self) -> ModelCapabilities:
        """As `model_info`, under its older name."""
        return self.model_info
