"""The block through autogen-ext's own model clients: their message checks pass, and what they send holds one block.

They speak to a stand-in on loopback. Needs `autogen-ext[openai,anthropic,ollama]` 0.7.5 with `anthropic<1`; memotel itself does not.
"""

import asyncio
import json
from collections.abc import Callable

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import ListMemory, Memory, MemoryContent
from autogen_core.models import ChatCompletionClient, ModelInfo
from blocks import FACT, QUESTION
from model_server import ModelServer, model_server

from memotel.autogen import RekallMemory

pytest.importorskip("autogen_ext.models.openai", reason="autogen-ext[openai] is not installed")
pytest.importorskip(
    "autogen_ext.models.anthropic", reason="autogen-ext[anthropic] is not installed"
)
pytest.importorskip("autogen_ext.models.ollama", reason="autogen-ext[ollama] is not installed")

# autogen-ext 0.7.5 warns of what it does itself with newer openai, anthropic and ollama packages.
pytestmark = [
    pytest.mark.filterwarnings(
        r"ignore:.*:DeprecationWarning:(autogen_ext|openai|anthropic|ollama)"
    ),
    pytest.mark.filterwarnings("ignore:Resolved model mismatch:UserWarning"),
]

MakeMemory = Callable[..., RekallMemory]
CUSTOM = ModelInfo(
    vision=False, function_calling=True, json_output=True, family="unknown", structured_output=False
)


def openai(url: str) -> ChatCompletionClient:
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    return OpenAIChatCompletionClient(model="gpt-4o", api_key="k", base_url=f"{url}/v1")


def openai_custom(url: str) -> ChatCompletionClient:
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    return OpenAIChatCompletionClient(
        model="self-hosted", api_key="k", base_url=f"{url}/v1", model_info=CUSTOM
    )


def gemini(url: str) -> ChatCompletionClient:
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    return OpenAIChatCompletionClient(model="gemini-2.0-flash", api_key="k", base_url=f"{url}/v1")


def azure(url: str) -> ChatCompletionClient:
    from autogen_ext.models.openai import AzureOpenAIChatCompletionClient

    return AzureOpenAIChatCompletionClient(
        model="gpt-4o",
        azure_deployment="d",
        azure_endpoint=url,
        api_version="2024-10-21",
        api_key="k",
    )


def anthropic(url: str) -> ChatCompletionClient:
    from autogen_ext.models.anthropic import AnthropicChatCompletionClient

    return AnthropicChatCompletionClient(model="claude-3-haiku-20240307", api_key="k", base_url=url)


def ollama(url: str) -> ChatCompletionClient:
    from autogen_ext.models.ollama import OllamaChatCompletionClient

    return OllamaChatCompletionClient(model="llama3.2", host=url)


CLIENTS = [openai, openai_custom, gemini, azure, anthropic, ollama]


def converse(client: ChatCompletionClient, memory: Memory, system_message: str | None) -> None:
    async def run() -> None:
        agent = AssistantAgent("a", client, memory=[memory], system_message=system_message)
        for _ in range(3):
            await agent.run(task=QUESTION)
        await client.close()

    asyncio.run(run())


@pytest.mark.parametrize("system_message", ["Be brief.", None], ids=["system", "no_system"])
@pytest.mark.parametrize("placement", ["system", "user"])
@pytest.mark.parametrize("make_client", CLIENTS, ids=lambda make: make.__name__)
def test_client_takes_the_block_and_sends_it_once(
    make_memory: MakeMemory,
    make_client: Callable[[str], ChatCompletionClient],
    placement: str,
    system_message: str | None,
) -> None:
    with model_server() as server:
        converse(make_client(server.url), make_memory(placement=placement), system_message)
    assert_one_block_each(server)


def assert_one_block_each(server: ModelServer) -> None:
    sent = [json.dumps(call) for call in server.calls]
    assert len(sent) == 3
    assert [body.count("<recalled_memory ") for body in sent] == [1, 1, 1]
    assert all(FACT in body for body in sent)


@pytest.mark.parametrize(
    "make_client", [openai_custom, gemini, anthropic], ids=lambda make: make.__name__
)
def test_shipped_memory_is_refused_by_the_same_clients(
    make_client: Callable[[str], ChatCompletionClient],
) -> None:
    """Shows that the checks above can fail."""
    content = MemoryContent(content=FACT, mime_type="text/plain")
    with model_server() as server, pytest.raises(ValueError, match="Not continuous"):
        converse(make_client(server.url), ListMemory(memory_contents=[content]), "Be brief.")
