"""Fifty AG2 chats at once on one event loop, each with a recall and a model that take 300 ms.

Nobody may wait for anybody, and the loop must stay free. Run: python -m benchmarks.async_chats
"""

import asyncio
import io
import statistics
import time
from contextlib import redirect_stdout
from typing import Any

from ag2_memorysync import MemorySyncCapability
from autogen import ConversableAgent
from benchmarks.chats import QUESTION, agent_named, memory_at
from benchmarks.harness import Figure, options, report
from benchmarks.raw_backend import FACT, Behaviour, RawBackend, raw_backend
from memotel.counts import Count

CHATS = 50
DELAY_S = 0.3


class Model:
    """An asynchronous reply function that takes its time and counts what it was shown."""

    def __init__(self) -> None:
        self.shown = 0

    async def answer(
        self, recipient: object, messages: list[dict[str, Any]], sender: object, config: object
    ) -> tuple[bool, str]:
        await asyncio.sleep(DELAY_S)
        self.shown += FACT in str(messages[-1]["content"])
        return True, "Tea, I think."


class Gaps:
    """The longest time for which the loop did not come round."""

    def __init__(self) -> None:
        self.largest_s = 0.0

    async def watch(self) -> None:
        before = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            self.largest_s = max(self.largest_s, now - before - 0.001)
            before = now


async def chats(
    memory: MemorySyncCapability | None, model: Model, count: int = CHATS
) -> tuple[float, float]:
    """Hold so many chats at once; return the seconds it took and the largest gap of the loop."""
    pairs = [(agent_named(f"ada_{n}"), _assistant(n, memory, model)) for n in range(count)]
    gaps = Gaps()
    watch = asyncio.create_task(gaps.watch())
    await asyncio.sleep(0.05)
    gaps.largest_s, started = 0.0, time.perf_counter()
    await asyncio.gather(
        *(
            ada.a_initiate_chat(assistant, message=QUESTION, max_turns=1, silent=True)
            for ada, assistant in pairs
        )
    )
    wall_s = time.perf_counter() - started
    watch.cancel()
    return wall_s, gaps.largest_s


def _assistant(number: int, memory: MemorySyncCapability | None, model: Model) -> ConversableAgent:
    agent = agent_named(f"assistant_{number}", model.answer)
    if memory is not None:
        memory.add_to_agent(agent)
    return agent


def measure(backend: RawBackend, rounds: int) -> list[Figure]:
    """Return medians over rounds that take turns with and without memory."""
    memory = memory_at(backend.url)
    assert memory.warm()
    backend.behave(Behaviour(delay_s=DELAY_S))
    asyncio.run(chats(memory, Model()))
    memory.flush()
    ours, plain, alone, shown = [], [], [], []
    hits_before = hits(memory)
    for _ in range(rounds):
        plain.append(asyncio.run(chats(None, Model())))
        model = Model()
        ours.append(asyncio.run(chats(memory, model)))
        shown.append(model.shown)
        memory.flush()
    per_round = (hits(memory) - hits_before) / rounds
    for _ in range(rounds):
        alone.append(asyncio.run(chats(memory, Model(), 1)))
        memory.flush()
    memory.client.close()
    return [
        Figure("wall", statistics.median(wall for wall, _ in ours), "s", 0.80),
        Figure("largest gap of the loop", _gap_ms(ours), "ms", 20.0),
        Figure("largest gap, one chat alone", _gap_ms(alone), "ms", 20.0),
        Figure("recalls with outcome hit, a round", per_round, f"of {CHATS}", CHATS, is_least=True),
        Figure(
            "seen by the model, least of a round", min(shown), f"of {CHATS}", CHATS, is_least=True
        ),
        Figure("wall without memory", statistics.median(wall for wall, _ in plain), "s"),
        Figure("largest gap without memory", _gap_ms(plain), "ms"),
    ]


def hits(memory: MemorySyncCapability) -> float:
    """Return how many recalls have brought memories so far."""
    client = memory.client
    return client.counts.total(Count.RECALLS, client.provider, client.adapter, "hit")


def _gap_ms(found: list[tuple[float, float]]) -> float:
    return statistics.median(gap for _, gap in found) * 1e3


def main() -> None:
    """Measure and print."""
    asked = options(__doc__)
    # AG2 prints a line at the end of each chat, silent or not.
    with raw_backend() as backend, redirect_stdout(io.StringIO()):
        figures = measure(backend, asked.of(15, 3))
    report(f"{CHATS} chats at once, recall {DELAY_S} s + model {DELAY_S} s", figures, asked)


if __name__ == "__main__":
    main()
