"""Calls, a background loop and scripted handlers for the middleware tests."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from memotel.calls import Answer, Call
from memotel.outcomes import Adapter, Operation, Provider
from memotel.runtime import BackgroundLoop
from memotel.values import Memories, Memory, Recall, Scope

MakeCall = Callable[..., Call]
HIT = Memories((Memory("m_1", "likes tea", 0.9),), "likes tea")


class Scripted:
    """A handler that gives the next of its answers: a value, an error to raise, or a coroutine function to await."""

    def __init__(
        self, *answers: Answer | Exception | Callable[[Call], Coroutine[Any, Any, Answer]]
    ) -> None:
        self.answers = list(answers)
        self.calls: list[Call] = []

    async def __call__(self, call: Call) -> Answer:
        self.calls.append(call)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            return await answer(call)
        return answer


@pytest.fixture(scope="session")
def loop() -> BackgroundLoop:
    """One background loop for the session; its thread is a daemon."""
    return BackgroundLoop()


@pytest.fixture
def make_call() -> MakeCall:
    def make(
        budget_s: float = 5.0, *, is_blocking: bool = False, prompt: str = "what do I drink?"
    ) -> Call:
        return Call(
            Operation.RECALL,
            Recall(Scope("u", "s"), prompt),
            provider=Provider.MEMORYSYNC,
            adapter=Adapter.DIRECT,
            budget_s=budget_s,
            is_blocking=is_blocking,
        )

    return make


@pytest.fixture
def run() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Run a coroutine on a loop of its own."""
    with asyncio.Runner() as runner:
        yield runner.run
