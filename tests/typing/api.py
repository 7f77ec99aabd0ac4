"""The public names as users write them. Type-checked by `make check` and never run."""

from typing import assert_type

from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import Memory as AutoGenMemory
from autogen_core.memory import MemoryContent, MemoryMimeType, MemoryQueryResult
from autogen_core.models import ChatCompletionClient

from ag2_memorysync import (
    DEFAULT_CONTEXT_TEMPLATE,
    MemorySyncAPIError,
    MemorySyncCapability,
    fnv1a64,
    register_memory_tools,
)
from ag2_memorysync.capability import speaks_for_a_person
from autogen import ConversableAgent
from memotel import (
    Adapter,
    FlushReport,
    Memories,
    MemoryClient,
    MemotelError,
    Outcome,
    Provider,
    RecallPolicy,
    RecallResult,
    Receipt,
    Scope,
    Speaker,
    Turn,
    resolve,
)
from memotel.ag2 import RekallCapability
from memotel.autogen import MemorySyncMemory
from memotel.devserver import DevServer
from memotel.telemetry import TelemetryHandle, setup
from memotel.testing import SetFault
from rekall_autogen import RekallMemory


async def a_key() -> str:
    """A credential may be an asynchronous callable."""
    return "key"


def ag2(agent: ConversableAgent) -> None:
    """An AG2 user's lines."""
    memory = MemorySyncCapability(user_id="ada", session_id="s1", api_key=a_key, top_k=3)
    memory.add_to_agent(agent)
    register_memory_tools(memory, caller=agent, executor=agent)
    with memory.paused():
        memory.warm()
    try:
        found = memory.search("tea", limit=2)
    except MemorySyncAPIError as error:
        assert_type(error.request_id, str | None)
    else:
        assert_type(found[0].get("score") is None, bool)
    assert_type(memory.flush(timeout=1.0), FlushReport)
    assert_type(fnv1a64(DEFAULT_CONTEXT_TEMPLATE), str)
    assert_type(speaks_for_a_person(agent), bool)
    memory.close()
    RekallCapability(api_key=lambda: "rk_1", recall_timeout=0.8).add_to_agent(agent)


async def autogen(model_client: ChatCompletionClient) -> None:
    """An AutoGen user's lines."""
    memory = RekallMemory(api_url="http://localhost:9876", api_key="rk_1")
    as_autogen_sees_it: AutoGenMemory = memory
    AssistantAgent("assistant", model_client, memory=[as_autogen_sees_it])
    await memory.add(MemoryContent(content="Ada drinks tea.", mime_type=MemoryMimeType.TEXT))
    assert_type(await memory.query("tea"), MemoryQueryResult)
    assert_type(await memory.aflush(), FlushReport)
    async with MemorySyncMemory("ada", a_key, recall_timeout=0.5) as other:
        await other.clear()


async def core() -> None:
    """The lines of somebody who brings a framework of their own."""
    settings = resolve(
        Provider.MEMORYSYNC, Adapter.DIRECT, api_key="k", recall=RecallPolicy(budget_s=0.5)
    )
    client = MemoryClient(settings)
    scope = Scope(user_id="ada", session_id="s1")
    result = client.recall(scope, "What does Ada drink?")
    assert_type(result, RecallResult)
    assert_type(result.outcome, Outcome)
    assert_type(await client.arecall(scope, "What does Ada drink?"), RecallResult)
    try:
        assert_type(await client.asearch(scope, "tea"), Memories)
    except MemotelError as error:
        assert_type(error.is_retryable, bool)
    turn = Turn(scope=scope, speaker=Speaker.HUMAN, text="I drink tea.")
    assert_type(client.write(turn), Receipt)
    assert_type(client.flush(), FlushReport)


def operations() -> None:
    """The lines of somebody who runs agents."""
    assert_type(setup(service_name="support-bot", prometheus_port=9464), TelemetryHandle)


def tests(memory_server: DevServer, fault: SetFault) -> None:
    """The lines of somebody who tests agents."""
    assert_type(memory_server.url, str)
    fault("delay", on="recalls", delay_s=2.0)
