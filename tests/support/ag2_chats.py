"""Chats between AG2 agents, one call for the synchronous and the asynchronous kind."""

import asyncio
from typing import Any

from autogen.agentchat import ChatResult

from autogen import ConversableAgent


def person(
    name: str = "ada", says: str = "and then what happened?", **options: Any
) -> ConversableAgent:
    """Return an agent without a model that hands over a person's words."""
    options = {
        "human_input_mode": "NEVER",
        "llm_config": False,
        "default_auto_reply": says,
        **options,
    }
    return ConversableAgent(name, **options)


def chat(
    starter: ConversableAgent,
    other: ConversableAgent,
    message: Any,
    *,
    is_async: bool = False,
    **options: Any,
) -> ChatResult:
    """Have `starter` open a chat with `other`, silently."""
    options = {"silent": True, **options}
    if not is_async:
        return starter.initiate_chat(other, message=message, **options)
    return asyncio.run(starter.a_initiate_chat(other, message=message, **options))


def stored_texts(*agents: ConversableAgent) -> list[str]:
    """Every text in every history of these agents."""
    return [
        str(message.get("content"))
        for agent in agents
        for history in agent.chat_messages.values()
        for message in history
    ]
