"""`add`: kept when it returns, accepted when the service is away, refused aloud when it can never be kept."""

import asyncio
import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from autogen_core import CancellationToken
from autogen_core.memory import MemoryContent, MemoryMimeType
from remembering import KEY

from memotel.autogen import MemorySyncMemory, RekallMemory
from memotel.devserver import DevServer, Route
from memotel.errors import AuthenticationError, InvalidRequestError
from memotel.testing import SetFault

MakeMemory = Callable[..., RekallMemory]


def item(
    content: Any, mime: MemoryMimeType | str = MemoryMimeType.TEXT, **metadata: Any
) -> MemoryContent:
    return MemoryContent(content=content, mime_type=mime, metadata=metadata or None)


def texts(server: DevServer) -> list[str]:
    """What is stored, without what the fixture stored."""
    return [stored.text for stored in server.items() if '"origin": "test"' not in stored.metadata]


def test_add_returns_when_the_service_has_it(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    asyncio.run(make_memory().add(item("Bob keeps bees")))
    assert texts(memory_server) == ["Bob keeps bees"]


def test_type_and_importance_go_along_and_the_callers_metadata_stays(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    content = item("Bob keeps bees", type="episodic", importance=0.9, tags=["bees"])
    before = deepcopy(content.metadata)
    asyncio.run(make_memory().add(content))
    assert content.metadata == before
    stored = memory_server.items()[-1]
    kept = json.loads(stored.metadata)
    assert stored.type == "episodic"
    assert (kept["importance"], kept["tags"]) == (0.9, ["bees"])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (item("# Bees", MemoryMimeType.MARKDOWN), "# Bees"),
        (item({"bees": 7}, MemoryMimeType.JSON), '{"bees": 7}'),
        (item(b"bees", "text/plain"), "bees"),
        (item(b"\x89PNG", "image/png", description="seven hives"), "[image: seven hives]"),
    ],
    ids=["markdown", "json", "bytes", "image"],
)
def test_every_kind_of_content_is_kept(
    make_memory: MakeMemory, memory_server: DevServer, content: MemoryContent, expected: str
) -> None:
    memory = make_memory()
    asyncio.run(memory.add(content))
    assert texts(memory_server) == [expected]


def test_json_comes_back_from_a_query_as_a_dict(make_memory: MakeMemory) -> None:
    memory = make_memory()
    asyncio.run(memory.add(item({"animal": "bees", "hives": 7}, MemoryMimeType.JSON)))
    found = asyncio.run(memory.query("hives bees animal"))
    assert found.results[0].content == {"animal": "bees", "hives": 7}


def test_content_without_a_text_raises_and_sends_nothing(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    with pytest.raises(InvalidRequestError, match="description"):
        asyncio.run(make_memory().add(item(b"\x00", MemoryMimeType.BINARY)))
    assert len(memory_server.requests(Route.REKALL_CREATE)) == 1


def test_each_call_is_an_item_of_its_own_unless_its_message_id_says_otherwise(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    memory = make_memory()

    async def run() -> None:
        for _ in range(2):
            await memory.add(item("Bob keeps bees"))
            await memory.add(item("Ida sails", message_id="m-1"))

    asyncio.run(run())
    assert sorted(texts(memory_server)) == ["Bob keeps bees", "Bob keeps bees", "Ida sails"]


def test_transient_failure_leaves_it_in_the_outbox_and_returns(
    make_memory: MakeMemory, memory_server: DevServer, fault: SetFault
) -> None:
    fault("hang", on="writes", times=1)
    memory = make_memory(write_timeout=0.2)

    async def run() -> None:
        await memory.add(item("Bob keeps bees"))
        assert texts(memory_server) == []
        report = await memory.aflush(20)
        assert report.pending == 0

    asyncio.run(run())
    assert texts(memory_server) == ["Bob keeps bees"]


def test_lost_answer_does_not_double_the_item(
    make_memory: MakeMemory, memory_server: DevServer, fault: SetFault
) -> None:
    fault("reset", on="writes", stored=True, times=1)
    memory = make_memory()

    async def run() -> None:
        await memory.add(item("Bob keeps bees"))
        await memory.aflush(20)

    asyncio.run(run())
    assert texts(memory_server) == ["Bob keeps bees"]


def test_definite_rejection_raises(make_memory: MakeMemory, fault: SetFault) -> None:
    fault("status", on="writes", status=422)
    with pytest.raises(InvalidRequestError):
        asyncio.run(make_memory().add(item("Bob keeps bees")))


def test_text_that_is_too_long_raises(make_memory: MakeMemory) -> None:
    with pytest.raises(InvalidRequestError):
        asyncio.run(make_memory().add(item("x" * 50_001)))


def test_clear_and_close_leave_the_store_alone(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    async def run() -> None:
        async with make_memory() as memory:
            await memory.add(item("Bob keeps bees"))
            await memory.clear()
            await memory.close()
        await memory.close()

    before = len(memory_server.items())
    asyncio.run(run())
    assert len(memory_server.items()) == before + 1
    assert {r.method for r in memory_server.requests()} == {"POST"}


def test_flush_and_context_manager_without_a_loop(
    make_memory: MakeMemory, memory_server: DevServer, fault: SetFault
) -> None:
    fault("status", on="writes", status=503, times=1)
    with make_memory() as memory:
        asyncio.run(memory.add(item("Bob keeps bees")))
        report = memory.flush(20)
        assert (report.pending, report.failed) == (0, 0)
    assert texts(memory_server) == ["Bob keeps bees"]


def test_token_cancelled_during_add_abandons_the_wait_not_the_item(
    make_memory: MakeMemory, memory_server: DevServer, fault: SetFault
) -> None:
    fault("delay", on="writes", delay_s=0.5)
    memory = make_memory()

    async def run() -> None:
        token = CancellationToken()
        task = asyncio.create_task(memory.add(item("Bob keeps bees"), token))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await memory.aflush(20)

    asyncio.run(run())
    assert texts(memory_server) == ["Bob keeps bees"]


def test_memory_sync_keeps_what_is_added_as_a_persons_words(memory_server: DevServer) -> None:
    memory = MemorySyncMemory("ada", "k", base_url=memory_server.url, recall_timeout=10.0)
    asyncio.run(memory.add(item("I drink green tea in the morning")))
    [stored] = memory_server.items("ada")
    assert stored.text == "human: I drink green tea in the morning"
    found = asyncio.run(memory.query("green tea morning"))
    assert "green tea" in str(found.results[0].content)


def test_access_token_is_asked_for_again_when_it_has_expired(memory_server: DevServer) -> None:
    tokens = iter(["rat_old", "rat_new", "rat_newer"])
    memory_server.revoke("rat_old")
    memory = RekallMemory(memory_server.url, access_token=lambda: next(tokens), recall_timeout=10.0)
    found = asyncio.run(memory.query("green tea"))
    assert found.results == []
    sent = [r.headers["authorization"] for r in memory_server.requests(Route.REKALL_SEARCH)]
    assert sent == ["Bearer rat_old", "Bearer rat_new"]


def test_dead_key_raises_an_authentication_error(memory_server: DevServer) -> None:
    memory_server.revoke(KEY)
    memory = RekallMemory(memory_server.url, KEY)
    with pytest.raises(AuthenticationError) as caught:
        asyncio.run(memory.query("green tea"))
    assert KEY not in str(caught.value)


def test_add_of_more_than_the_service_keeps_raises_and_sends_nothing(
    memory_server: DevServer,
) -> None:
    memory = RekallMemory(memory_server.url, KEY)
    with pytest.raises(InvalidRequestError, match="50,000"):
        asyncio.run(memory.add(item("x" * 50_001)))
    assert texts(memory_server) == []
