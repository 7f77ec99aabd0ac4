"""What memory adds to a model's prompt over a chat of 100 turns, in characters a turn: the current block, and no more.

Every turn asks something else and recalls; nothing is left out of the history, so the conversation's own words grow
and are subtracted. Each turn's writes are delivered before the next asks, so that every run recalls the same. Run: python -m benchmarks.prompt_growth [--json FILE] [--quick]
"""

import asyncio
import logging
import statistics
import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from benchmarks.harness import Figure, Options, options, report
from memotel.devserver import DevServer

TURNS = 100
QUICK_TURNS = 20
GROWTH_LIMIT = 1.05
TOPICS = ("tea", "trains", "ferries", "lamps", "books", "gardens", "maps", "songs")
FACTS = [f"Ada likes {topic} of the north best, number {n}" for n, topic in enumerate(TOPICS)]

BLOCK_HEADS = ("Relevant user memories (MemorySync):", "<recalled_memory ")
"""How the blocks of the adapters begin."""

Prompts = list[list[str]]
"""The text of every message of every call of the model."""


def question(turn: int) -> str:
    """Return what is asked in a turn; the words recur, the question never does."""
    return f"Which {TOPICS[turn % len(TOPICS)]} does Ada like best, asked {turn:03d}?"


def answer(turn: int) -> str:
    """Return what the model says in a turn."""
    return f"Those of the north, as answered {turn:03d}."


def ag2_classic(url: str, turns: int) -> Prompts:
    """Chat through `MemorySyncCapability`."""
    warnings.simplefilter("ignore")  # autogen 0.14 warns while it is imported
    logging.getLogger("ag2.event.processor").setLevel(logging.WARNING)  # a line a turn, else
    from ag2_memorysync import MemorySyncCapability
    from autogen import ConversableAgent

    prompts: Prompts = []

    class Model:
        def __init__(self, config: Any) -> None:
            del config

        def create(self, params: Any) -> SimpleNamespace:
            prompts.append([str(m.get("content")) for m in params["messages"]])
            text = answer(len(prompts) - 1)
            message = SimpleNamespace(content=text, function_call=None, tool_calls=None)
            return SimpleNamespace(
                choices=[SimpleNamespace(message=message)], model="scripted", cost=0.0
            )

        def message_retrieval(self, response: Any) -> list[str]:
            return [choice.message.content for choice in response.choices]

        def cost(self, response: Any) -> float:
            return float(response.cost)

        @staticmethod
        def get_usage(response: Any) -> dict[str, Any]:
            del response
            return {}

    settings = {"model": "scripted", "model_client_cls": "Model", "api_key": "none"}
    config = {"config_list": [settings], "cache_seed": None}
    agent = ConversableAgent("helper", llm_config=config, human_input_mode="NEVER")
    agent.register_model_client(Model)
    ada = ConversableAgent("ada", llm_config=False, human_input_mode="NEVER")
    with MemorySyncCapability("ada", "growth", api_key="k", base_url=url, **SETTINGS) as memory:
        memory.add_to_agent(agent)
        for turn in range(turns):
            ada.initiate_chat(
                agent, message=question(turn), max_turns=1, clear_history=turn == 0, silent=True
            )
            memory.flush()
    return prompts


def ag2_1(url: str, turns: int) -> Prompts:
    """Chat through the plugin of `memotel.ag2_v1`."""
    from ag2.config import LLMClient
    from ag2.events import ModelMessage, ModelRequest, ModelResponse, TextInput
    from ag2.testing import TestConfig

    from ag2 import Agent
    from memotel.ag2_v1 import MemorySyncMemory

    prompts: Prompts = []

    def text_of(event: object) -> str:
        if isinstance(event, ModelRequest):
            return "".join(part.content for part in event.parts if isinstance(part, TextInput))
        return str(event.content) if isinstance(event, ModelResponse) else ""

    class Client(LLMClient):
        async def __call__(self, messages: Any, context: Any, **_: Any) -> ModelResponse:
            prompts.append([*context.prompt, *map(text_of, messages)])
            return ModelResponse(ModelMessage(answer(len(prompts) - 1)))

    class Config(TestConfig):
        def create(self) -> Any:
            return Client()

    async def talk(memory: MemorySyncMemory) -> None:
        reply: Any = Agent("helper", config=Config(), plugins=[memory.plugin()])
        for turn in range(turns):
            reply = await reply.ask(question(turn))
            await memory.aflush()
        await memory.aclose()

    memory = MemorySyncMemory("ada", "growth", api_key="k", base_url=url, **SETTINGS)
    asyncio.run(talk(memory))
    return prompts


def autogen(url: str, turns: int) -> Prompts:
    """Chat through `MemorySyncMemory` of `memotel.autogen`."""
    from autogen_agentchat.agents import AssistantAgent
    from autogen_core.models import CreateResult, LLMMessage

    from memotel.autogen import MemorySyncMemory
    from memotel.demo.models import Asked, AutoGenModel

    prompts: Prompts = []

    class Model(AutoGenModel):
        async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
            prompts.append([str(message.content) for message in messages])
            found = await super().create(messages, **options)
            return found.model_copy(update={"content": answer(len(prompts) - 1)})

    async def talk() -> None:
        memory = MemorySyncMemory(
            "ada", "k", base_url=url, session_id="growth", capture="both", **SETTINGS
        )
        agent = AssistantAgent(
            "helper", Model(Asked(), "helper"), memory=[memory], system_message=None
        )
        for turn in range(turns):
            await agent.run(task=question(turn))
            await memory.aflush()
        await memory.close()

    asyncio.run(talk())
    return prompts


SETTINGS: dict[str, Any] = {"recall_timeout": 10.0}
WAYS: dict[str, Callable[[str, int], Prompts]] = {
    "AG2": ag2_classic,
    "AG2 1": ag2_1,
    "AutoGen": autogen,
}


def added(prompts: Prompts, system: int) -> list[int]:
    """Return the characters of each prompt that are not the conversation's own; `system`: of the system message."""
    said = 0
    beyond = []
    for turn, messages in enumerate(prompts):
        said += len(question(turn))
        beyond.append(sum(map(len, messages)) - said - system)
        said += len(answer(turn))
    return beyond


def figures_of(name: str, prompts: Prompts, *, turns: int, system: int) -> list[Figure]:
    """Return what memory added early and late in one chat, and how many blocks the last prompt holds."""
    if len(prompts) != turns:
        raise RuntimeError(f"{name}: the model was asked {len(prompts)} times in {turns} turns")
    beyond = added(prompts, system)
    if min(beyond[len(TOPICS) :]) <= 0:
        raise RuntimeError(f"{name}: a turn was shown no memory")
    tenth = turns // 10
    early = statistics.mean(beyond[tenth : 2 * tenth])
    late = statistics.mean(beyond[-tenth:])
    blocks = sum(text.count(head) for text in prompts[-1] for head in BLOCK_HEADS)
    return [
        Figure(f"{name}: added by memory, turns {tenth + 1} to {2 * tenth}", early, "characters"),
        Figure(f"{name}: added by memory, last {tenth} turns", late, "characters"),
        Figure(f"{name}: late to early", late / early, limit=GROWTH_LIMIT),
        Figure(f"{name}: blocks in the last prompt", blocks, limit=1),
        Figure(
            f"{name}: if every block stayed, in the last prompt",
            sum(beyond),
            "characters",
            note="what a memory stored in history adds",
        ),
    ]


def measure(asked: Options) -> list[Figure]:
    """Hold the chat through each adapter, each with a service of its own that knows the same facts."""
    from memotel.ag2_v1 import MemorySyncMemory

    turns = asked.of(TURNS, QUICK_TURNS)
    found: list[Figure] = []
    for name, chat in WAYS.items():
        with DevServer() as server:
            with MemorySyncMemory("ada", "facts", api_key="k", base_url=server.url) as memory:
                for fact in FACTS:
                    memory.save(fact)
            prompts = chat(server.url, turns)
        system = len(prompts[0][0]) if name == "AG2" else 0
        found += figures_of(name, prompts, turns=turns, system=system)
    return found


def main() -> None:
    """Print the figures beside their limits."""
    asked = options(__doc__)
    report("Characters that memory adds to the prompt", measure(asked), asked)


if __name__ == "__main__":
    main()
