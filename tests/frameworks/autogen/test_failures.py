"""Whatever the service does, the agent answers; whoever asked explicitly is told."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken
from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import UserMessage
from blocks import FACT, QUESTION, blocks_in
from remembering import KEY
from scripted_model import ScriptedModel

from memotel.autogen import RekallMemory
from memotel.counts import Count
from memotel.devserver import DevServer, Route
from memotel.errors import (
    AuthenticationError,
    BudgetExceededError,
    InvalidRequestError,
    MemotelError,
    ResponseFormatError,
    ServiceUnavailableError,
    TransportError,
)
from memotel.testing import SetFault

MakeMemory = Callable[..., RekallMemory]
FAULTS = ["hang", "drip", "reset", "reset_body", "status", "malformed", "huge", "rate_limit"]


def asked(memory: RekallMemory, question: str = QUESTION) -> int:
    """Let a context be updated for a question; return how many items came of it."""

    async def run() -> int:
        context = UnboundedChatCompletionContext()
        await context.add_message(UserMessage(content=question, source="user"))
        result = await memory.update_context(context)
        assert blocks_in(await context.get_messages()) == bool(result.memories.results)
        return len(result.memories.results)

    return asyncio.run(run())


@pytest.mark.parametrize("kind", FAULTS)
def test_agent_answers_without_memories_when_the_service_fails(
    make_memory: MakeMemory, fault: SetFault, kind: str
) -> None:
    fault(kind, on="rekall")
    model = ScriptedModel(["I do not know."])
    agent = AssistantAgent("a", model, memory=[make_memory(recall_timeout=0.2)])
    result = asyncio.run(agent.run(task=QUESTION))
    assert result.messages[-1].to_text() == "I do not know."
    assert [blocks_in(seen) for seen in model.seen] == [0]


def test_block_of_the_turn_before_does_not_stay_when_recall_fails(
    make_memory: MakeMemory, fault: SetFault
) -> None:
    model = ScriptedModel()
    agent = AssistantAgent("a", model, memory=[make_memory()])
    asyncio.run(agent.run(task=QUESTION))
    fault("status", on="rekall", status=500)
    asyncio.run(agent.run(task=QUESTION))
    assert [blocks_in(seen) for seen in model.seen] == [1, 0]


def test_timeout_is_counted_as_the_caller_got_it(make_memory: MakeMemory, fault: SetFault) -> None:
    fault("hang", on="rekall")
    memory = make_memory(recall_timeout=0.2)
    before = memory.client.counts.total(Count.RECALLS, "rekall", "autogen", "timeout")
    assert asked(memory) == 0
    assert memory.client.counts.total(Count.RECALLS, "rekall", "autogen", "timeout") == before + 1


@dataclass
class SilentService:
    """A service that takes a request and never answers."""

    url: str
    arrived: asyncio.Event


@asynccontextmanager
async def silent_service() -> AsyncIterator[SilentService]:
    arrived, end = asyncio.Event(), asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        arrived.set()
        await end.wait()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield SilentService(f"http://127.0.0.1:{port}", arrived)
        end.set()


def test_cancelled_error_passes_through_update_context() -> None:
    async def run() -> None:
        async with silent_service() as service:
            memory = RekallMemory(service.url, KEY, recall_timeout=60.0)
            context = UnboundedChatCompletionContext()
            await context.add_message(UserMessage(content=QUESTION, source="user"))
            task = asyncio.create_task(memory.update_context(context))
            await service.arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert blocks_in(await context.get_messages()) == 0

    asyncio.run(run())


def test_context_that_breaks_does_not_break_the_reply(make_memory: MakeMemory) -> None:
    class Broken(UnboundedChatCompletionContext):
        async def get_messages(self) -> list[object]:  # type: ignore[override] # broken on purpose
            raise RuntimeError("broken")

    result = asyncio.run(make_memory().update_context(Broken()))
    assert result.memories.results == []


ERRORS: dict[str, tuple[dict[str, object], type[MemotelError]]] = {
    "hang": ({"kind": "hang"}, BudgetExceededError),
    "reset": ({"kind": "reset"}, TransportError),
    "malformed": ({"kind": "malformed"}, ResponseFormatError),
    "500": ({"kind": "status", "status": 500}, ServiceUnavailableError),
    "401": ({"kind": "status", "status": 401}, AuthenticationError),
    "422": ({"kind": "status", "status": 422}, InvalidRequestError),
}


@pytest.mark.parametrize(("settings", "expected"), ERRORS.values(), ids=ERRORS.keys())
def test_query_raises_typed_errors(
    make_memory: MakeMemory,
    fault: SetFault,
    settings: dict[str, object],
    expected: type[MemotelError],
) -> None:
    fault(str(settings["kind"]), on="rekall", **{k: v for k, v in settings.items() if k != "kind"})
    memory = make_memory(search_timeout=0.3)
    with pytest.raises(expected):
        asyncio.run(memory.query(QUESTION))


def test_query_returns_scores_and_ids_best_first(make_memory: MakeMemory) -> None:
    memory = make_memory()
    for query in (QUESTION, MemoryContent(content=QUESTION, mime_type=MemoryMimeType.TEXT)):
        found = asyncio.run(memory.query(query, limit=3))
        assert [item.content for item in found.results] == [FACT]
        metadata = found.results[0].metadata
        assert metadata is not None
        assert 0 < metadata["score"] <= 1
        assert metadata["id"].startswith("mem_")
        assert metadata["origin"] == "test"


def test_query_limit_goes_to_the_service(make_memory: MakeMemory, memory_server: DevServer) -> None:
    asyncio.run(make_memory(top_k=4).query(QUESTION))
    asyncio.run(make_memory().query(QUESTION, limit=2))
    sent = [json.loads(request.body) for request in memory_server.requests(Route.REKALL_SEARCH)]
    assert [body["limit"] for body in sent] == [4, 2]


def test_empty_query_is_refused(make_memory: MakeMemory) -> None:
    with pytest.raises(MemotelError):
        asyncio.run(make_memory().query("  "))


def test_token_cancelled_before_the_call_sends_nothing(
    make_memory: MakeMemory, memory_server: DevServer
) -> None:
    token = CancellationToken()
    token.cancel()
    memory = make_memory()
    before = len(memory_server.requests())

    async def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            await memory.query(QUESTION, token)
        with pytest.raises(asyncio.CancelledError):
            await memory.add(MemoryContent(content=FACT, mime_type="text/plain"), token)

    asyncio.run(run())
    assert len(memory_server.requests()) == before


@pytest.mark.parametrize("is_other_thread", [False, True])
def test_token_cancelled_during_the_call_abandons_it(*, is_other_thread: bool) -> None:
    async def run() -> None:
        async with silent_service() as service:
            memory = RekallMemory(service.url, KEY, search_timeout=60.0)
            token = CancellationToken()
            task = asyncio.create_task(memory.query(QUESTION, token))
            await service.arrived.wait()
            if is_other_thread:
                await asyncio.to_thread(token.cancel)
            else:
                token.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


def test_token_cancelled_after_the_call_and_its_loop_disturbs_nobody(
    make_memory: MakeMemory,
) -> None:
    token = CancellationToken()
    asyncio.run(make_memory().query(QUESTION, token))
    token.cancel()
    assert token.is_cancelled()


def test_refused_query_of_an_image_says_what_to_do(make_memory: MakeMemory) -> None:
    picture = MemoryContent(content=b"\x00", mime_type=MemoryMimeType.BINARY)
    with pytest.raises(InvalidRequestError, match="description"):
        asyncio.run(make_memory().query(picture))
