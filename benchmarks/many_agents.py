"""A thousand capabilities of one account: what each costs to attach, in time and memory, and what a recall costs then.

Run: python -m benchmarks.many_agents
"""

import gc
import itertools
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from benchmarks.harness import Figure, Round, Worker, interleaved, options, ratio, report, timed
from benchmarks.raw_backend import raw_backend

MANY = 1_000


def attaching(url: str) -> Round:
    """Rounds whose one result is the seconds that each of so many capabilities took to make and attach."""
    from benchmarks import chats  # a worker imports what it measures, and nothing else

    def attach_all(count: int) -> list[float]:
        agents = [chats.agent_named(f"a{n}", chats.says_yes) for n in range(count)]
        gc.collect()
        started = time.perf_counter()
        kept = [chats.memory_at(url, session_id=f"s{n}") for n in range(count)]
        for memory, agent in zip(kept, agents, strict=True):
            memory.add_to_agent(agent)
        return [(time.perf_counter() - started) / count]

    return attach_all


def weighing(url: str) -> Round:
    """Rounds whose results are the bytes that each capability holds: once attached, and once it has recalled."""
    from benchmarks import chats  # as above

    def weigh(count: int) -> list[float]:
        agents = [chats.agent_named(f"a{n}", chats.says_yes) for n in range(count)]
        first = chats.memory_at(url)
        first.add_to_agent(agents[0])
        ada = chats.agent_named("ada")
        chats.recall_hook(agents[0], ada)()
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        kept = [chats.memory_at(url, session_id=f"s{n}") for n in range(count)]
        for memory, agent in zip(kept, agents, strict=True):
            memory.add_to_agent(agent)
        gc.collect()
        attached, _ = tracemalloc.get_traced_memory()
        for agent in agents:
            chats.recall_hook(agent, ada)()
        gc.collect()
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return [(attached - before) / count, (used - before) / count]

    return weigh


def recalling(url: str, count: int) -> Round:
    """Rounds of recalls that go through so many capabilities in turn."""
    from benchmarks import chats  # as above

    ada = chats.agent_named("ada")
    hooks: list[Callable[[], str]] = []
    kept = []
    for number in range(count):
        agent = chats.agent_named(f"a{number}", chats.says_yes)
        kept.append(chats.memory_at(url, session_id=f"s{number}"))
        kept[-1].add_to_agent(agent)
        hooks.append(chats.recall_hook(agent, ada))
        hooks[-1]()
    turns = itertools.cycle(hooks)

    def call() -> None:
        assert next(turns)() != chats.QUESTION

    return timed(call)


def main() -> None:
    """Measure and print."""
    asked = options(__doc__)
    many = asked.of(MANY, 200)
    name = "benchmarks.many_agents"
    with raw_backend() as backend, ExitStack() as stack:

        def worker(prepare: str, *extra: int) -> Worker:
            return stack.enter_context(Worker(name, prepare, backend.url, *extra, is_fast=False))

        attach = worker("attaching")
        times = [attach.round(many)[0] for _ in range(asked.of(9, 3))]
        weights = worker("weighing").round(many)
        recalls = interleaved(
            {"one": worker("recalling", 1), "many": worker("recalling", many)},
            rounds=asked.of(25, 7),
            calls=asked.of(many, 200),
        )
    report(f"{many} capabilities of one account", list(_figures(times, weights, recalls)), asked)


def _figures(
    times: list[float], weights: list[float], recalls: dict[str, list[float]]
) -> Iterator[Figure]:
    attached_bytes, used_bytes = weights
    yield Figure("made and attached", statistics.median(times) * 1e6, "us each", 200.0)
    yield Figure("memory once attached", attached_bytes / 1024, "KiB each", 20.0)
    yield Figure("memory once it has recalled", used_bytes / 1024, "KiB each", 20.0)
    for name, seconds in recalls.items():
        yield Figure(f"recall p50, {name}", statistics.median(seconds) * 1e6, "us")
    yield Figure("recall p50, many / one", ratio(recalls["many"], recalls["one"]), "x", 1.1)


if __name__ == "__main__":
    main()
