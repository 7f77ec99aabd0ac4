"""How fast this machine is just now, beside the one that limits in microseconds were set on.

A virtual machine among others may take twice as long from one minute to the next, and no code can help that. So a limit in
microseconds stands for as many bare httpx requests as it was there: here such requests are timed beside what is measured,
and the limit grows by what they take longer. It never gets stricter than it is.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import httpx

T = TypeVar("T")

REFERENCE_US = 104.0
"""Processor time of the request there: the best of nine rounds."""

ROUNDS, CALLS = 9, 30


def client_to_nowhere() -> httpx.Client:
    """Return a client whose requests are answered at once, and reach no network."""
    return httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, json={})))


def bare_request_us() -> float:
    """Return the processor time of a bare httpx request that reaches no network: the best of nine rounds."""
    best = float("inf")
    with client_to_nowhere() as client:
        for _ in range(ROUNDS):
            began = time.thread_time()
            for _ in range(CALLS):
                client.post("https://service.test/", json={"query": "tea"}).raise_for_status()
            best = min(best, (time.thread_time() - began) / CALLS * 1e6)
    return best


def pace_of(looks: Sequence[float]) -> float:
    """Return how many times longer such requests take here than where the limits were set; at least 1."""
    return max(1.0, statistics.fmean(looks) / REFERENCE_US)


def paced(measure: Callable[[], T]) -> tuple[T, float]:
    """Return what `measure` returns, and the pace by a look before it and one after."""
    before = bare_request_us()
    found = measure()
    return found, pace_of([before, bare_request_us()])


def pace_note(limit: float, unit: str, pace: float) -> str:
    """Return what a figure's note says of its limit."""
    return f"limit {limit:g} {unit} x {pace:.2f}, this machine's pace"
