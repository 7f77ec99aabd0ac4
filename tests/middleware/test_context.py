"""Other users' memories are taken out before the outcome is decided."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotel.config import RecallPolicy
from memotel.counts import Counts
from memotel.middleware.context import context, own_of
from memotel.outcomes import Operation
from memotel.values import Memories, Memory, Scope, Search

from .conftest import MakeCall, Scripted

ADAS = Memory("m_1", "Ada drinks tea", 0.9, user_id="u")
BENS = Memory("m_2", "Ben drinks coffee", 0.8, user_id="ben")
NOBODYS = Memory("m_3", "The kettle is blue", 0.7)
BOTH = Memories(
    (BENS, ADAS, NOBODYS), "- Ben drinks coffee\n- Ada drinks tea\n- The kettle is blue"
)
Run = Callable[..., Any]
USERS = st.none() | st.text(min_size=1)


def test_recall_shows_the_users_own_memories_and_those_of_nobody(
    make_call: MakeCall, run: Run
) -> None:
    found = run(context(Scripted(BOTH), RecallPolicy(), Counts())(make_call()))
    assert found.items == (ADAS, NOBODYS)
    assert found.context == "- Ada drinks tea\n- The kettle is blue"


def test_recall_that_finds_only_another_users_memories_is_empty(
    make_call: MakeCall, run: Run
) -> None:
    answer = Memories((BENS,), "- Ben drinks coffee")
    found = run(context(Scripted(answer), RecallPolicy(), Counts())(make_call()))
    assert found.is_empty()


def test_search_finds_the_users_own_memories_and_those_of_nobody(
    make_call: MakeCall, run: Run
) -> None:
    call = make_call()
    call.operation, call.request = Operation.SEARCH, Search(Scope("u", "s"), "drinks")
    found = run(context(Scripted(BOTH), RecallPolicy(), Counts())(call))
    assert found.items == (ADAS, NOBODYS)


@pytest.mark.parametrize("user_id", ["ada", "ben", ""])
def test_answer_without_another_users_memory_is_left_as_it_is(user_id: str) -> None:
    mine = Memories((replace(ADAS, user_id=user_id or "anybody"), NOBODYS), "block")
    assert own_of(mine, user_id) is mine


@given(st.lists(USERS), st.text(min_size=1))
def test_whoever_asks_gets_nothing_that_names_another(owners: list[str | None], asks: str) -> None:
    items = tuple(Memory(str(n), "a fact", user_id=who) for n, who in enumerate(owners))
    kept = own_of(Memories(items), asks).items
    assert kept == tuple(m for m in items if m.user_id in (None, asks))
