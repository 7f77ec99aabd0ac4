"""A model client that follows a script, records what it was shown, and refuses what strict providers refuse.

`check_order` is the rule that autogen-ext 0.7.5 applies before the network: its OpenAI client unless
`model_info["multiple_system_messages"]` (`models/openai/_openai_client.py`), its Anthropic client always
(`models/anthropic/_anthropic_client.py`).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from copy import deepcopy
from typing import Any, Self

from autogen_core import Component, FunctionCall
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelInfo,
    RequestUsage,
    SystemMessage,
)
from pydantic import BaseModel

Step = str | list[FunctionCall] | BaseException | Callable[[Sequence[LLMMessage]], str]


class ScriptConfig(BaseModel):
    script: list[str]


class ScriptedModel(ChatCompletionClient, Component[ScriptConfig]):
    """Answers with the steps of a script in order, "done" when it has ended; `seen` holds what each call was shown."""

    component_type = "model"
    component_config_schema = ScriptConfig
    component_provider_override = "scripted_model.ScriptedModel"

    def __init__(
        self,
        script: Sequence[Step] = (),
        *,
        is_strict: bool = True,
        delay_s: float = 0.0,
        thought: str | None = None,
    ) -> None:
        self.script: list[Step] = list(script)
        self.seen: list[list[LLMMessage]] = []
        self.is_strict = is_strict
        self.delay_s = delay_s
        self.thought = thought

    async def create(self, messages: Sequence[LLMMessage], **_: object) -> CreateResult:
        if self.is_strict:
            check_order(messages)
        self.seen.append([deepcopy(message) for message in messages])
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        step = self.script.pop(0) if self.script else "done"
        if isinstance(step, BaseException):
            raise step
        content = step(messages) if callable(step) else step
        return CreateResult(
            finish_reason="stop" if isinstance(content, str) else "function_calls",
            content=content,
            usage=self.actual_usage(),
            cached=False,
            thought=self.thought,
        )

    async def create_stream(
        self, messages: Sequence[LLMMessage], **_: object
    ) -> AsyncGenerator[str | CreateResult, None]:
        result = await self.create(messages)
        if isinstance(result.content, str):
            for word in result.content.split():
                yield word
        yield result

    async def close(self) -> None:
        return None

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def total_usage(self) -> RequestUsage:
        return self.actual_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], **_: object) -> int:
        return sum(len(str(message.content).split()) for message in messages)

    def remaining_tokens(self, messages: Sequence[LLMMessage], **_: object) -> int:
        return 1_000 - self.count_tokens(messages)

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=True,
            function_calling=True,
            json_output=True,
            family="scripted",
            structured_output=True,
        )

    def _to_config(self) -> ScriptConfig:
        return ScriptConfig(script=[step for step in self.script if isinstance(step, str)])

    @classmethod
    def _from_config(cls, config: ScriptConfig) -> Self:
        return cls(config.script)


def check_order(messages: Sequence[LLMMessage]) -> None:
    """Raise ValueError where system messages are not one run at the head."""
    kinds = ["system" if isinstance(m, SystemMessage) else "other" for m in messages]
    if "system" in kinds[kinds.index("other") :] if "other" in kinds else False:
        raise ValueError("Multiple and Not continuous system messages are not supported")


def call(name: str, arguments: str = "{}", call_id: str = "call-1") -> FunctionCall:
    """Return one tool call."""
    return FunctionCall(id=call_id, name=name, arguments=arguments)


def sketch(messages: Sequence[LLMMessage]) -> list[str]:
    """Return messages in short, as "User:hello"; tool calls and results are "..."."""
    return [
        f"{m.type.removesuffix('Message')}:{m.content if isinstance(m.content, str) else '...'}"
        for m in messages
    ]


def text_seen(messages: Sequence[LLMMessage]) -> str:
    """Return everything that a call was shown, as one text."""
    return "\n".join(str(message.content) for message in messages)
