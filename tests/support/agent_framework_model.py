"""A chat client for Agent Framework that follows a script and records what each call was shown."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)

Step = str | list[Content] | BaseException


class ScriptedClient(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    """Answers with the steps of a script in order, "done" when it has ended; `seen` holds each call's prompt."""

    def __init__(self, *script: Step) -> None:
        super().__init__()
        self.script = list(script)
        self.seen: list[str] = []

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **_: Any,
    ) -> Any:
        shown = [f"system: {options['instructions']}"] if options.get("instructions") else []
        self.seen.append("\n".join([*shown, *(f"{m.role}: {m.text}" for m in messages)]))
        contents = self._contents()
        if stream:
            return ResponseStream(_updates(contents), finalizer=ChatResponse.from_updates)
        return _response(contents)

    def _contents(self) -> list[Content]:
        step = self.script.pop(0) if self.script else "done"
        if isinstance(step, BaseException):
            raise step
        return [Content.from_text(step)] if isinstance(step, str) else step


async def _response(contents: list[Content]) -> ChatResponse[Any]:
    return ChatResponse(messages=[Message("assistant", contents)])


async def _updates(contents: list[Content]) -> AsyncIterator[ChatResponseUpdate]:
    for content in contents:
        yield ChatResponseUpdate(role="assistant", contents=[content])


def call(name: str, call_id: str = "call-1", **arguments: object) -> list[Content]:
    """Return one tool call."""
    made = Content.from_function_call(call_id, name, arguments=json.dumps(arguments))
    return [made]


def agent_of(client: ScriptedClient, *providers: Any, **settings: Any) -> Agent[Any]:
    """Return an agent named "helper" with these context providers."""
    return Agent(
        client,
        instructions="Be helpful.",
        **{"name": "helper", "context_providers": list(providers), **settings},
    )
