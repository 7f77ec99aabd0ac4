"""An assistant that still knows in the next conversation what it was told in this one.

    pip install 'memotel[autogen,devserver]' 'autogen-ext[openai]'
    memotel devserver &                      # or set REKALL_API_URL and REKALL_API_KEY
    OPENAI_API_KEY=... REKALL_API_URL=http://localhost:9876 REKALL_API_KEY=rk_dev \
        python examples/autogen_assistant.py
"""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ChatCompletionClient

from rekall_autogen import RekallMemory, create_memory_tools


def assistant(model: ChatCompletionClient, memory: RekallMemory) -> AssistantAgent:
    """Return an agent that is shown what memory knows, and can search and save by itself."""
    return AssistantAgent(
        "assistant",
        model,
        system_message="You help one person. Use what you remember of them.",
        memory=[memory],
        tools=list(create_memory_tools(memory)),
        reflect_on_tool_use=True,
    )


async def converse(model: ChatCompletionClient) -> list[str]:
    """Hold two conversations, each with a fresh agent; return what the agent answered."""
    answers = []
    # Address and key come from the environment; capture="both" keeps what both sides say.
    async with RekallMemory(session_id="monday", capture="both") as memory:
        result = await assistant(model, memory).run(task="I drink green tea in the morning.")
        answers.append(result.messages[-1].to_text())
        report = await memory.aflush()
        print(f"kept: {report.delivered}, pending: {report.pending}, failed: {report.failed}")
    async with RekallMemory(session_id="tuesday", capture="both") as memory:
        result = await assistant(model, memory).run(task="What do I drink in the morning?")
        answers.append(result.messages[-1].to_text())
    return answers


if __name__ == "__main__":
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    for answer in asyncio.run(converse(OpenAIChatCompletionClient(model="gpt-4o-mini"))):
        print(answer)
