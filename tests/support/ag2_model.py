"""A model for AG2 agents that says what its script says, and keeps exactly what it was shown."""

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from autogen import ConversableAgent

Message = dict[str, Any]
Line = str | Message | Callable[[list[Message]], str | Message]


class ScriptedModel:
    """One agent's model. `seen` holds the messages of every call, system message first.

    A line of the script is a text, a message (for tool calls), or a function of what the model is shown. After
    the last line the model says "done N".
    """

    def __init__(self, *lines: Line) -> None:
        self.lines = list(lines)
        self.seen: list[list[Message]] = []

    def answer(self, messages: list[Message]) -> Message:
        self.seen.append(copy.deepcopy(messages))
        line: Line = self.lines.pop(0) if self.lines else f"done {len(self.seen)}"
        said = line(messages) if callable(line) else line
        return {"content": said} if isinstance(said, str) else said

    def shown(self, call: int = -1) -> str:
        """All text of one call."""
        return "\n".join(str(message.get("content")) for message in self.seen[call])


class ScriptedClient:
    """The model client that AG2 calls (its ModelClient protocol, autogen 0.14.1)."""

    def __init__(self, config: dict[str, Any], model: ScriptedModel) -> None:
        del config
        self._model = model

    def create(self, params: dict[str, Any]) -> Any:
        message = self._model.answer(params["messages"])
        return SimpleNamespace(
            choices=[message],
            model="scripted",
            cost=0.0,
            message_retrieval_function=self.message_retrieval,
        )

    def message_retrieval(self, response: Any) -> list[Any]:
        message = response.choices[0]
        return [message if message.get("tool_calls") else message["content"]]

    def cost(self, response: Any) -> float:
        return float(response.cost)

    @staticmethod
    def get_usage(response: Any) -> dict[str, Any]:
        del response
        return {}


LLM_CONFIG = {
    "config_list": [{"model": "scripted", "model_client_cls": "ScriptedClient", "api_key": "none"}],
    "cache_seed": None,
}


def with_model(agent: ConversableAgent, model: ScriptedModel) -> ConversableAgent:
    """Give an agent (made with `LLM_CONFIG`) its script; again after tools, as AG2 then makes a new client."""
    agent.register_model_client(model_client_cls=ScriptedClient, model=model)
    return agent


def assistant(name: str, *lines: Line, **options: Any) -> tuple[ConversableAgent, ScriptedModel]:
    """Return an agent that never asks a human, and its model."""
    model = ScriptedModel(*lines)
    options = {"human_input_mode": "NEVER", "llm_config": LLM_CONFIG, **options}
    return with_model(ConversableAgent(name, **options), model), model


def tool_call(name: str, arguments: str, call_id: str = "call_1") -> Message:
    """Return a model's message that calls a tool."""
    function = {"name": name, "arguments": arguments}
    call = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
