"""What a search by a tool brings a model: one clean line a memory, whatever the memory holds."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from memotel import Adapter, MemoryClient, Provider, Scope, resolve
from memotel.ag2 import RekallCapability
from memotel.autogen import RekallMemory, create_memory_tools
from memotel.autogen.tools import search_for_model
from memotel.devserver import DevServer
from memotel.memory.tools import memory_tools

SAVED = "Ada likes\x1b[31m red tea\u202e\u2028and\r\n\r\nhoney\x00"
SHOWN = "- Ada likes[31m red tea and honey"


def ag2(**settings: Any) -> str:
    with RekallCapability(**settings) as memory:
        return memory_tools(memory).search_memory("what tea does Ada like")


def autogen(**settings: Any) -> str:
    async def search() -> str:
        async with RekallMemory(**settings) as memory:
            assert len(create_memory_tools(memory)) == 2
            return await search_for_model(memory, "what tea does Ada like", 5, None)

    return asyncio.run(search())


@pytest.mark.parametrize("search", [ag2, autogen])
def test_search_shows_a_model_no_control_characters(
    memory_server: DevServer, search: Callable[..., str]
) -> None:
    settings = {"api_key": "rk_1", "user_id": "ada"}
    with MemoryClient(
        resolve(Provider.REKALL, Adapter.DIRECT, url=memory_server.url, api_key="rk_1")
    ) as client:
        client.save(Scope("ada"), SAVED)

    assert search(api_url=memory_server.url, **settings) == SHOWN
