"""Conversations on real agents: one AG2 chat, one AutoGen run, each of one turn, with memory attached."""

import time
from dataclasses import dataclass, field
from typing import Any

from autogen.events.base_event import BaseEvent
from autogen.io import IOStream
from autogen_agentchat.agents import AssistantAgent
from autogen_core.model_context import BufferedChatCompletionContext

from ag2_memorysync import MemorySyncCapability
from autogen import ConversableAgent, UserProxyAgent
from memotel.config import BreakerPolicy, WritePolicy
from memotel.demo.models import Ag2Model, Asked, AutoGenModel
from rekall_autogen import RekallMemory

MODEL: dict[str, Any] = {"config_list": [{"model": "demo", "model_client_cls": "Ag2Model"}]}


class Silence(IOStream):
    """Where AG2 prints its chats: nowhere, since the demo shows its own table."""

    def print(self, *objects: Any, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        """Print nothing."""

    def send(self, message: BaseEvent) -> None:
        """Show nothing."""

    def input(self, prompt: str = "", *, password: bool = False) -> str:  # as the class asks
        """Nobody is there to answer."""
        return ""


@dataclass(frozen=True, slots=True)
class Tempo:
    """How quickly the demo's agents lose patience; `--fast` shortens all of it."""

    recall_timeout_s: float = 1.2
    breaker: BreakerPolicy = field(default_factory=BreakerPolicy)
    writes: WritePolicy = field(
        default_factory=lambda: WritePolicy(
            backoff_max_s=2.0, quota_recheck_s=1.0, attempt_budget_s=2.0, exit_drain_s=2.0
        )
    )


@dataclass(frozen=True, slots=True)
class Reply:
    """What an agent said, and how long the model waited for memory before it was asked."""

    text: str
    wait_s: float


class Ag2Conversation:
    """A person and an AG2 assistant whose memory is MemorySync."""

    framework = "AG2 + MemorySync"

    def __init__(self, person: str, session: str, url: str, tempo: Tempo) -> None:
        self._asked, self._who = Asked(), f"{person}/{session}"
        self.memory = MemorySyncCapability(
            user_id=person,
            session_id=session,
            api_key="ms_demo",
            base_url=url,
            recall_timeout=tempo.recall_timeout_s,
            breaker=tempo.breaker,
            writes=tempo.writes,
        )
        self._person = UserProxyAgent(person, human_input_mode="NEVER", code_execution_config=False)
        self._assistant = ConversableAgent("assistant", llm_config=MODEL, human_input_mode="NEVER")
        self._assistant.register_model_client(Ag2Model, asked=self._asked, who=self._who)  # type: ignore[arg-type] # AG2 asks for an instance in its annotation and makes one from the class
        self.memory.add_to_agent(self._assistant)

    def say(self, text: str) -> Reply:
        """Say one thing and return the reply."""
        started_at = time.perf_counter()
        result = self._person.initiate_chat(
            self._assistant, message=text, max_turns=1, silent=True, clear_history=False
        )
        return Reply(
            str(result.chat_history[-1]["content"]), self._asked.since(self._who, started_at)
        )


class AutoGenConversation:
    """A person and an AutoGen assistant whose memory is Rekall."""

    framework = "AutoGen + Rekall"

    def __init__(self, person: str, session: str, url: str, tempo: Tempo) -> None:
        self._asked, self._who = Asked(), f"{person}/{session}"
        self.memory = RekallMemory(
            api_url=url,
            headers={"x-user-id": person},
            user_id=person,
            session_id=session,
            capture="both",
            recall_timeout=tempo.recall_timeout_s,
            breaker=tempo.breaker,
            writes=tempo.writes,
        )
        self._assistant = AssistantAgent(
            "assistant",
            model_client=AutoGenModel(self._asked, self._who),
            memory=[self.memory],
            model_context=BufferedChatCompletionContext(buffer_size=6),
        )

    async def say(self, text: str) -> Reply:
        """Say one thing and return the reply."""
        started_at = time.perf_counter()
        result = await self._assistant.run(task=text)
        last = result.messages[-1]
        return Reply(last.to_text(), self._asked.since(self._who, started_at))
