"""A model for agents of AG2 1 that says what its script says, and keeps exactly what it was shown."""

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ag2.config import LLMClient, ModelConfig
from ag2.events import (
    BaseEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextInput,
    ToolCallEvent,
    ToolCallsEvent,
)
from ag2_memory import RecordingClient

from ag2 import Context
from memotel.ag2_v1.base import AgentMemory
from memotel.memory.template import DEFAULT_CONTEXT_TEMPLATE
from memotel.values import Receipt, ReceiptStatus, Scope, Turn

Line = str | ToolCallEvent | BaseException | Callable[[Sequence[BaseEvent]], str]


@dataclass(frozen=True)
class Seen:
    """What one call of the model was given."""

    prompt: list[str]
    events: list[BaseEvent]

    @property
    def requests(self) -> list[str]:
        """The text of every request, in its order."""
        return [text_of(event) for event in self.events if isinstance(event, ModelRequest)]

    @property
    def text(self) -> str:
        """All that the model was shown."""
        return "\n".join((*self.prompt, *map(everything, self.events)))


class ScriptedConfig(ModelConfig):
    """One agent's model. `seen` holds every call. After the last line the model says "done"."""

    def __init__(self, *lines: Line) -> None:
        self.lines = list(lines)
        self.seen: list[Seen] = []

    @property
    def provider(self) -> Any:
        return "scripted"

    @property
    def model(self) -> str:
        return "scripted"

    def copy(self) -> Self:
        return self

    def create(self) -> "ScriptedClient":
        return ScriptedClient(self)

    def create_files_client(self) -> Any:
        raise NotImplementedError


class ScriptedClient(LLMClient):
    """The client that an agent calls (ag2's LLMClient protocol, 1.2.1)."""

    def __init__(self, config: ScriptedConfig) -> None:
        self._config = config

    async def __call__(
        self, messages: Sequence[BaseEvent], context: Context, **_: Any
    ) -> ModelResponse:
        config = self._config
        config.seen.append(Seen(list(context.prompt), copy.deepcopy(list(messages))))
        line: Line = config.lines.pop(0) if config.lines else "done"
        if isinstance(line, BaseException):
            raise line
        if isinstance(line, ToolCallEvent):
            return ModelResponse(tool_calls=ToolCallsEvent([line]))
        message = ModelMessage(line(messages) if callable(line) else line)
        await context.send(message)
        return ModelResponse(message)


class HearingClient(RecordingClient):
    """Keeps every turn; AG2 1 hands turns over with an id in place of a history."""

    def write(self, turn: Turn, **_: Any) -> Receipt:
        if self.error is not None:
            raise self.error
        assert turn.message_id
        self.turns.append(turn)
        return Receipt(ReceiptStatus.ACCEPTED)

    @property
    def said(self) -> list[tuple[str, str]]:
        """(speaker, words) of every turn, repeats too."""
        return [(str(turn.speaker), turn.text) for turn in self.turns]


def memory_on(client: RecordingClient, **options: Any) -> AgentMemory:
    """Return a memory for user ada, session s1, on a client in memory."""
    settings = {
        "template": DEFAULT_CONTEXT_TEMPLATE,
        "persist_roles": ("human", "ai"),
        "source": "ag2",
        **options,
    }
    return AgentMemory(client, scope=Scope("ada", "s1"), **settings)


def text_of(request: ModelRequest) -> str:
    """Return the text of a request, part by part."""
    return "\n".join(part.content for part in request.parts if isinstance(part, TextInput))


def everything(event: BaseEvent) -> str:
    """Return all that an event holds, as text."""
    if isinstance(event, ModelRequest):
        return text_of(event)
    return str({key: value for key, value in vars(event).items() if not key.startswith("_")})


async def stored(reply: Any) -> str:
    """Return all that is stored of a conversation, as text."""
    events: Iterable[BaseEvent] = await reply.history.get_events()
    return "\n".join(map(everything, events))
