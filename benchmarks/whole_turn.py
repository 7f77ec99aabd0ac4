"""What memory adds to a whole turn: a recall and two accepted writes, telemetry on, beside one bare request.

Run: python -m benchmarks.whole_turn
"""

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks import recall_cost
from benchmarks.harness import Figure, Round, Worker, interleaved, options, report
from benchmarks.raw_backend import raw_backend


def bare(url: str) -> Round:
    """Rounds of `httpx.AsyncClient.post`."""
    return recall_cost.async_client(url)


def turns(url: str, has_memory: bool) -> Round:
    """Rounds of turns of one chat: a message is sent, the agent answers; both are kept where there is memory.

    The writes of a turn are delivered before the next begins: people think longer than that.
    """
    from benchmarks import chats  # a worker imports what it measures, and nothing else

    chats.telemetry_on()
    memory = chats.memory_at(url)

    def calls(count: int) -> list[float]:
        assistant = chats.agent_named("assistant", chats.says_yes)
        ada = chats.agent_named("ada")
        if has_memory:
            memory.add_to_agent(assistant)
        found = []
        for number in range(count):
            message = f"Question {number}: {chats.QUESTION}"
            started = time.perf_counter()
            ada.send(message, assistant, request_reply=True, silent=True)
            found.append(time.perf_counter() - started)
            if has_memory:
                assert memory.client.flush(10).pending == 0
        assert ada.last_message(assistant)["content"]
        if has_memory:
            _check_accepted(memory.stats().totals.accepted)
        return found

    accepted = [0]

    def _check_accepted(total: int) -> None:
        assert total > accepted[0], "the turn's words were not kept"
        accepted[0] = total

    return calls


CANDIDATES = {"bare": ("bare", ()), "without": ("turns", (False,)), "with": ("turns", (True,))}
LIMIT = 1.3


def main() -> None:
    """Measure and print."""
    asked = options(__doc__)
    found: dict[bool, dict[str, list[float]]] = {}
    with raw_backend() as backend:
        for is_fast in (False, True):
            with ExitStack() as stack:
                workers = {
                    name: stack.enter_context(
                        Worker(
                            "benchmarks.whole_turn",
                            prepare,
                            backend.url,
                            *extra,
                            is_fast=is_fast and name == "with",
                        )
                    )
                    for name, (prepare, extra) in CANDIDATES.items()
                }
                found[is_fast] = interleaved(
                    workers, rounds=asked.of(25, 5), calls=asked.of(40, 10), warm_up=20
                )
    report("What memory adds to a turn", list(_figures(found)), asked)


def _figures(found: dict[bool, dict[str, list[float]]]) -> Iterator[Figure]:
    for is_fast, seconds in found.items():
        name = "fast" if is_fast else "default"
        added = [a - b for a, b in zip(seconds["with"], seconds["without"], strict=True)]
        for case in CANDIDATES:
            yield Figure(f"{name}: {case}", statistics.median(seconds[case]) * 1e6, "us")
        share = statistics.median(a / b for a, b in zip(added, seconds["bare"], strict=True))
        yield Figure(f"{name}: added / httpx.AsyncClient.post", share, "x", LIMIT)


if __name__ == "__main__":
    main()
