"""In every fault mode of the development server, over http and https and each transport, every agent answers in time.

And every write is accounted for, against what the server has.

Timing here is the claim itself, so it is asserted: the budget plus 100 ms, from the first turn on. A shared machine can
only make a wait longer, never shorter, so the best of a few fresh attempts is what memotel did.
"""

import asyncio
import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from ag2_chats import person
from ag2_model import assistant
from autogen_agentchat.agents import AssistantAgent
from books import assert_books_balance
from scripted_model import ScriptedModel

from ag2_memorysync import MemorySyncCapability
from memotel import Adapter, MemoryClient, NetworkPolicy, Outcome, Provider, Scope, resolve
from memotel.devserver import DevServer, Fault, FaultKind
from memotel.writes.books import Totals
from rekall_autogen import RekallMemory

BUDGET_S = 0.3
SLACK_S = 0.1
ATTEMPTS = 4
TURNS = 3

FAULTS = {
    "delay": Fault(FaultKind.DELAY, delay_s=5.0),
    "drip": Fault(FaultKind.DRIP, interval_s=0.02),
    "drip_head": Fault(FaultKind.DRIP, interval_s=0.02, head=True),
    "hang": Fault(FaultKind.HANG),
    "silent": Fault(FaultKind.SILENT),
    "refuse": Fault(FaultKind.REFUSE),
    "reset": Fault(FaultKind.RESET),
    "reset_clean": Fault(FaultKind.RESET, clean=True),
    "reset_body": Fault(FaultKind.RESET_BODY),
    "status_500": Fault(FaultKind.STATUS, status=500),
    "status_503_retry_after": Fault(FaultKind.STATUS, status=503, retry_after_s=0.05),
    "status_401": Fault(FaultKind.STATUS, status=401),
    "malformed": Fault(FaultKind.MALFORMED),
    "huge": Fault(FaultKind.HUGE),
    "silent_quota": Fault(FaultKind.SILENT_QUOTA),
    "strict_quota": Fault(FaultKind.STRICT_QUOTA),
    "rate_limit": Fault(FaultKind.RATE_LIMIT),
    "flapping": Fault(FaultKind.HANG, flap_requests=(1, 1)),
}


def test_every_kind_of_fault_is_tried() -> None:
    assert {fault.kind for fault in FAULTS.values()} == set(FaultKind)


@pytest.fixture(params=[False, True], ids=["http", "https"])
def server(request: pytest.FixtureRequest) -> Iterator[DevServer]:
    with DevServer(tls=request.param) as server:
        yield server


@pytest.fixture(params=["httpcore", "httpcore2", "aiohttp"])
def network(request: pytest.FixtureRequest, server: DevServer) -> NetworkPolicy:
    """Each transport that is offered; one that is not installed is a reason to fail where CI is set."""
    module = {"aiohttp": "httpx_aiohttp"}.get(request.param, request.param)
    if importlib.util.find_spec(module) is None and "CI" not in os.environ:
        pytest.skip(f"{module} is not installed")
    verify = str(server.ca_file) if server.ca_file else True
    return NetworkPolicy(engine=request.param, verify=verify)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the service is, and over which transport it is reached."""

    url: str
    network: NetworkPolicy


class Stopwatch:
    """A line of a model's script that notes how long it was until the model was asked."""

    def __init__(self) -> None:
        self.started_at = 0.0
        self.waits_s: list[float] = []

    def start(self) -> None:
        self.started_at = time.perf_counter()

    def __call__(self, _: object) -> str:
        self.waits_s.append(time.perf_counter() - self.started_at)
        return "I am still here."


@dataclass(frozen=True, slots=True)
class Course:
    """How a few turns went: how long each waited, and the books of their memory after it was closed."""

    waits_s: list[float]
    books: Totals


def ag2_turns(place: Place, label: str, *, is_async: bool) -> Course:
    watch = Stopwatch()
    agent, _ = assistant("assistant", *[watch] * TURNS)
    with MemorySyncCapability(
        user_id="ada",
        session_id=label,
        api_key=f"ms_{label}",
        base_url=place.url,
        network=place.network,
        recall_timeout=BUDGET_S,
        exit_drain_timeout=0.0,
    ) as memory:
        memory.add_to_agent(agent)
        ada = person()
        for turn in range(TURNS):
            message = f"What did I tell you in turn {turn}?"
            options = {"message": message, "max_turns": 1, "silent": True}
            watch.start()
            if is_async:
                result = asyncio.run(ada.a_initiate_chat(agent, **options))  # type: ignore[arg-type] # AG2's own options
            else:
                result = ada.initiate_chat(agent, **options)  # type: ignore[arg-type] # as above
            assert result.chat_history[-1]["content"] == "I am still here."
        memory.client.close(0.0)
    return Course(watch.waits_s, memory.stats().totals)


def autogen_turns(place: Place, label: str) -> Course:
    watch = Stopwatch()
    memory = RekallMemory(
        api_url=place.url,
        api_key=f"rk_{label}",
        network=place.network,
        recall_timeout=BUDGET_S,
        exit_drain_timeout=0.0,
        capture="both",
    )
    agent = AssistantAgent("assistant", ScriptedModel([watch] * TURNS), memory=[memory])

    async def main() -> None:
        for turn in range(TURNS):
            watch.start()
            result = await agent.run(task=f"What did I tell you in turn {turn}?")
            assert result.messages[-1].to_text() == "I am still here."
        await memory.client.aclose(0.0)

    asyncio.run(main())
    return Course(watch.waits_s, memory.client.stats().totals)


def assert_reachable(server: DevServer, network: NetworkPolicy) -> None:
    """Without a fault the service answers over this transport: what follows is the fault's doing."""
    settings = resolve(
        Provider.REKALL,
        Adapter.DIRECT,
        url=server.url,
        api_key="rk_healthy",
        network=network,
        recall_timeout=10.0,
    )
    with MemoryClient(settings) as client:
        assert client.recall(Scope("ada"), "Is anybody there at all?").outcome is Outcome.EMPTY


TURNS_OF: dict[str, Callable[[Place, str], Course]] = {
    "ag2": lambda place, label: ag2_turns(place, label, is_async=False),
    "ag2_async": lambda place, label: ag2_turns(place, label, is_async=True),
    "autogen": autogen_turns,
}


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_every_agent_answers_within_its_budget_plus_100_ms(
    server: DevServer, network: NetworkPolicy, fault: str
) -> None:
    assert_reachable(server, network)
    server.faults.set(FAULTS[fault])
    place = Place(server.url, network)
    books: list[Totals] = []
    for framework, turns in TURNS_OF.items():
        longest_s = float("inf")
        for attempt in range(ATTEMPTS):
            course = turns(place, f"{framework}-{attempt}")
            assert len(course.waits_s) == TURNS
            books.append(course.books)
            longest_s = min(longest_s, max(course.waits_s))
            if longest_s <= BUDGET_S + SLACK_S:
                break
        assert longest_s <= BUDGET_S + SLACK_S, f"{framework}: {longest_s:.3f} s"
    assert {one.accepted for one in books} == {TURNS + 1}, "each question, and the one answer"
    assert_books_balance(server, *books)
