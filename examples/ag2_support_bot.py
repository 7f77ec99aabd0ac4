"""A support bot that serves many people with one agent, and remembers each of them, and only them.

    pip install 'memotel[ag2,devserver]' 'autogen[openai]'
    memotel devserver &                      # or set MEMORYSYNC_BASE_URL and MEMORYSYNC_API_KEY
    OPENAI_API_KEY=... MEMORYSYNC_BASE_URL=http://localhost:9876 MEMORYSYNC_API_KEY=dev \
        python examples/ag2_support_bot.py
"""

import asyncio

from ag2_memorysync import MemorySyncCapability, register_memory_tools
from autogen import ConversableAgent, UserProxyAgent


def support_bot(memory: MemorySyncCapability, llm_config: object) -> ConversableAgent:
    """Return the one agent that answers everybody: it is shown what memory knows, and may search and save."""
    bot = ConversableAgent(
        "support",
        system_message="You are the support desk. Use what you remember of the person.",
        llm_config=llm_config,
        human_input_mode="NEVER",
    )
    memory.add_to_agent(bot)
    register_memory_tools(memory, caller=bot, executor=bot, is_async=True)
    return bot


async def answer(
    memory: MemorySyncCapability, bot: ConversableAgent, *, user: str, ticket: str, words: str
) -> str:
    """Answer one message of one person; any number of these may run at once."""
    person = UserProxyAgent(user, human_input_mode="NEVER", code_execution_config=False)
    with memory.scope(user_id=user, session_id=ticket):
        result = await person.a_initiate_chat(bot, message=words, max_turns=1, silent=True)
        await memory.aflush(agent=person)
    return str(result.chat_history[-1]["content"])


async def main(llm_config: object) -> list[str]:
    """Take two tickets of two people, then ask what each of them said."""
    # Address and key come from the environment.
    async with MemorySyncCapability(user_id="support-desk") as memory:
        bot = support_bot(memory, llm_config)
        told = {"ada": "My printer is a Lumen 40.", "bob": "My printer is a Korona 7."}
        for ticket, question in (("ticket-1", None), ("ticket-2", "Which printer is mine?")):
            work = (
                answer(memory, bot, user=user, ticket=ticket, words=question or words)
                for user, words in told.items()
            )
            answers = await asyncio.gather(*work)
        return list(answers)


if __name__ == "__main__":
    config = {"config_list": [{"model": "gpt-4o-mini"}]}
    for line in asyncio.run(main(config)):
        print(line)
