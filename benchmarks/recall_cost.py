"""What a recall through the AG2 hook costs, beside a bare request of httpx and of the standard library.

The backend answers at once, so what is measured is the way there and back. Run: python -m benchmarks.recall_cost
"""

import asyncio
import http.client
import json
import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

from benchmarks.harness import Figure, Round, Worker, interleaved, options, ratio, report, timed
from benchmarks.raw_backend import raw_backend

QUESTION = "What does Ada like to drink in the morning, and how warm?"
BODY = {"tenant_id": "t_1", "user_id": "ada", "prompt": QUESTION, "k": 5}
PATH = "/v1/memory/recall"
HEADERS = {"X-API-Key": "ms_key"}


def async_client(url: str) -> Round:
    """Rounds of `httpx.AsyncClient.post` on a loop of its own."""
    import httpx  # a worker imports what it measures, and nothing else

    runner = asyncio.Runner()
    client = httpx.AsyncClient(base_url=url, headers=HEADERS)

    async def calls(count: int) -> list[float]:
        clock = asyncio.get_running_loop().time
        found = []
        for _ in range(count):
            started = clock()
            response = await client.post(PATH, json=BODY)
            assert response.json()["context"]
            found.append(clock() - started)
        return found

    return lambda count: runner.run(calls(count))


def sync_client(url: str) -> Round:
    """Rounds of `httpx.Client.post`."""
    import httpx  # as above

    client = httpx.Client(base_url=url, headers=HEADERS)

    def call() -> None:
        assert client.post(PATH, json=BODY).json()["context"]

    return timed(call)


def standard_library(url: str) -> Round:
    """Rounds of one kept `http.client` connection."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    headers = {**HEADERS, "Content-Type": "application/json"}

    def call() -> None:
        connection.request("POST", PATH, json.dumps(BODY), headers)
        assert json.loads(connection.getresponse().read())["context"]

    return timed(call)


def ours(url: str, has_telemetry: bool) -> Round:
    """Rounds of the reply function that a capability placed before the agent's own."""
    from benchmarks import chats  # as above

    if has_telemetry:
        chats.telemetry_on()
    agent = chats.agent_named("assistant", chats.says_yes)
    chats.memory_at(url).add_to_agent(agent)
    recall = chats.recall_hook(agent)

    def call() -> None:
        assert recall() != QUESTION

    return timed(call)


CANDIDATES: dict[str, tuple[str, tuple[bool, ...], bool]] = {
    "httpx.AsyncClient.post": ("async_client", (), False),
    "httpx.Client.post": ("sync_client", (), False),
    "http.client": ("standard_library", (), False),
    "default, telemetry off": ("ours", (False,), False),
    "default, telemetry on": ("ours", (True,), False),
    "fast, telemetry off": ("ours", (False,), True),
    "fast, telemetry on": ("ours", (True,), True),
}
LIMITS = {"default": 0.95, "fast": 0.60}


def main() -> None:
    """Measure and print."""
    asked = options(__doc__)
    with raw_backend() as backend, ExitStack() as stack:
        workers = {
            name: stack.enter_context(
                Worker("benchmarks.recall_cost", prepare, backend.url, *extra, is_fast=is_fast)
            )
            for name, (prepare, extra, is_fast) in CANDIDATES.items()
        }
        found = interleaved(workers, rounds=asked.of(25, 7), calls=asked.of(400, 150))
    report("A recall through the AG2 hook, backend 0 ms", list(_figures(found)), asked)


def _figures(found: dict[str, list[float]]) -> Iterator[Figure]:
    bare = found["httpx.AsyncClient.post"]
    for name, seconds in found.items():
        yield Figure(name, statistics.median(seconds) * 1e6, "us")
    for name, seconds in found.items():
        if name != "httpx.AsyncClient.post":
            limit = LIMITS.get(name.partition(",")[0])
            yield Figure(f"{name} / AsyncClient", ratio(seconds, bare), "x", limit)
    stretch = ratio(found["fast, telemetry off"], found["httpx.Client.post"])
    yield Figure("fast, telemetry off / Client (stretch: 1.0)", stretch, "x")


if __name__ == "__main__":
    main()
