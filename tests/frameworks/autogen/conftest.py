"""A memory over a development server that knows one fact."""

from collections.abc import Callable

import pytest
from blocks import FACT
from remembering import KEY, remember

from memotel.autogen import RekallMemory
from memotel.devserver import DevServer

MakeMemory = Callable[..., RekallMemory]


@pytest.fixture
def make_memory(memory_server: DevServer) -> MakeMemory:
    """Return a maker of memories of one account, which is its test's own; the budget is no matter unless given."""
    remember(memory_server, FACT)

    def make(**settings: object) -> RekallMemory:
        return RekallMemory(memory_server.url, KEY, **{"recall_timeout": 10.0, **settings})  # type: ignore[arg-type] # any setting

    return make
