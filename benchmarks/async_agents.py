"""Fifty AutoGen agents at once on one event loop, each with a recall and a model that take 300 ms.

Nobody may wait for anybody: the whole takes little more than one recall and one model call, and the loop stays free.
Run: python benchmarks/async_agents.py [--json FILE]. The memory service runs in a process of its own.
"""

import argparse
import asyncio
import json
import multiprocessing
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import MemoryContent
from autogen_core.models import CreateResult, LLMMessage

from memotel.autogen import RekallMemory
from memotel.demo.models import Asked, AutoGenModel
from memotel.devserver import DevServer, Fault, FaultKind

AGENTS = 50
DELAY_S = 0.3
ROUNDS = 5
LIMIT_S = 0.80
GAP_LIMIT_S = 0.020
FACT = "Ada drinks green tea in the morning"
QUESTION = "What does Ada drink in the morning?"


class SlowModel(AutoGenModel):
    """Takes its time, and counts the calls that were shown the fact in a memory block."""

    shown = 0

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        await asyncio.sleep(DELAY_S)
        seen = "\n".join(str(message.content) for message in messages)
        SlowModel.shown += FACT in seen and seen.count("<recalled_memory ") == 1
        return await super().create(messages, **options)


class Gaps:
    """The longest time that the loop did not come round."""

    def __init__(self) -> None:
        self.largest_s = 0.0

    async def watch(self) -> None:
        before = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            self.largest_s = max(self.largest_s, now - before - 0.001)
            before = now


async def round_of(memory: RekallMemory | None) -> tuple[float, float]:
    """Run all agents at once; return the seconds it took and the largest gap of the loop."""
    agents = [
        AssistantAgent(
            f"agent_{n}", SlowModel(Asked(), "agent"), memory=[memory] if memory else None
        )
        for n in range(AGENTS)
    ]
    gaps = Gaps()
    watch = asyncio.create_task(gaps.watch())
    await asyncio.sleep(0.05)
    gaps.largest_s = 0.0
    start = time.perf_counter()
    await asyncio.gather(*(agent.run(task=QUESTION) for agent in agents))
    wall_s = time.perf_counter() - start
    watch.cancel()
    return wall_s, gaps.largest_s


def serve(pipe: Connection) -> None:
    """Run the memory service until the other end of the pipe closes."""
    with DevServer() as server:
        pipe.send(server.url)
        pipe.recv()
        server.faults.set(Fault(FaultKind.DELAY, "recalls", delay_s=DELAY_S))
        pipe.send("slow")
        try:
            pipe.recv()
        except EOFError:
            return


@contextmanager
def service() -> Iterator[RekallMemory]:
    """Yield a memory over a service that knows one fact and takes 300 ms to recall it."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,))
    process.start()
    theirs.close()
    memory = RekallMemory(ours.recv(), "rk_bench", recall_timeout=5.0)
    asyncio.run(memory.add(MemoryContent(content=FACT, mime_type="text/plain")))
    ours.send("go on")
    ours.recv()
    yield memory
    ours.close()
    process.join(10)


def measure() -> dict[str, float]:
    """Return medians over rounds that take turns with and without memory."""
    with service() as memory:
        asyncio.run(round_of(memory))
        SlowModel.shown = 0
        plain: list[tuple[float, float]] = []
        ours: list[tuple[float, float]] = []
        for _ in range(ROUNDS):
            plain.append(asyncio.run(round_of(None)))
            ours.append(asyncio.run(round_of(memory)))
    return {
        "wall_s": statistics.median(wall for wall, _ in ours),
        "largest_gap_s": statistics.median(gap for _, gap in ours),
        "wall_without_memory_s": statistics.median(wall for wall, _ in plain),
        "largest_gap_without_memory_s": statistics.median(gap for _, gap in plain),
        "shown_of_calls": SlowModel.shown / (ROUNDS * AGENTS),
    }


def main() -> None:
    """Print the figures beside their limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    found = measure()
    print(
        f"{AGENTS} agents at once, recall {DELAY_S:.1f} s + model {DELAY_S:.1f} s, {ROUNDS} rounds"
    )
    print(f"  wall         {found['wall_s']:.3f} s   must be <= {LIMIT_S:.2f} s")
    print(
        f"  largest gap  {found['largest_gap_s'] * 1e3:.1f} ms   must be <= {GAP_LIMIT_S * 1e3:.0f} ms"
    )
    print(f"  block shown  {found['shown_of_calls']:.0%} of the calls   must be 100%")
    print(
        f"  without memory: {found['wall_without_memory_s']:.3f} s, "
        f"largest gap {found['largest_gap_without_memory_s'] * 1e3:.1f} ms"
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
