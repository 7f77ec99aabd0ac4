"""A memory provider over a development server, for both services."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memotel.agent_framework import MemoryContextProvider
from memotel.devserver import DevServer

MakeMemory = Callable[..., MemoryContextProvider]


@pytest.fixture(params=["memorysync", "rekall"])
def make_memory(request: pytest.FixtureRequest, memory_server: DevServer) -> Iterator[MakeMemory]:
    """Return a maker of Ada's memories at one service; budgets are no matter unless given."""
    made: list[MemoryContextProvider] = []

    def make(**settings: Any) -> MemoryContextProvider:
        patience = {"recall_timeout": 30.0, "search_timeout": 30.0, "write_timeout": 30.0}
        given = {"user_id": "ada", "api_key": "rk_1", "url": memory_server.url, **settings}
        memory = MemoryContextProvider(request.param, **{**patience, **given})
        made.append(memory)
        return memory

    yield make
    for memory in made:
        memory.close(1.0)


@pytest.fixture
def written(memory_server: DevServer) -> Callable[[], Counter[str]]:
    """Return what was written, as `role: words`; each must have arrived once."""

    def read() -> Counter[str]:
        items = memory_server.items(fate=None)
        assert [item.deliveries for item in items] == [1] * len(items)
        return Counter(_line(item.text, item.metadata) for item in items)

    return read


def _line(text: str, metadata: str) -> str:
    """Rekall keeps the role beside the words, MemorySync in front of them."""
    if text.startswith(("human: ", "ai: ")):
        return text
    role = {"user": "human", "assistant": "ai"}.get(json.loads(metadata).get("role"), "other")
    return f"{role}: {text}"
