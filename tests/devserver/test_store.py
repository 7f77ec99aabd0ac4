"""What is stored is found again, and one scope's memories never reach another."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotel.devserver.routes import Service
from memotel.devserver.store import Fate, NewItem, Scope, Store

NAMES = st.sampled_from(["a", "b", "s1", "s2", "", "default", 'x"y', "a OR b", "scope:s1"])
SCOPES = st.builds(
    Scope,
    service=st.sampled_from(Service),
    account=NAMES,
    tenant=NAMES,
    project=NAMES,
    user=NAMES,
)
WORDS = st.lists(st.sampled_from(["tea", "oslo", "s1", "s2", 'NEAR("', "*", "é", "茶"]), min_size=1)


@given(st.lists(st.tuples(SCOPES, WORDS), max_size=12), SCOPES, WORDS)
def test_search_finds_only_the_scopes_own(
    writes: list[tuple[Scope, list[str]]], scope: Scope, query: list[str]
) -> None:
    store = Store()
    for owner, words in writes:
        store.add(owner, NewItem(" ".join(words)), Fate.STORED, now=1.0)
    found = store.search(scope, " ".join(query), limit=100)
    listed = store.memories(scope, limit=100)
    store.close()
    assert {item.scope for item in listed} <= {scope}
    assert {one.item.id for one in found} <= {item.id for item in listed}
    assert len(listed) == sum(owner == scope for owner, _ in writes)
    assert all(0.0 < one.score <= 1.0 for one in found)


@pytest.mark.parametrize("field", ["service", "account", "tenant", "project", "user"])
def test_each_part_of_a_scope_separates(field: str) -> None:
    store = Store()
    parts = {"account": "a", "tenant": "t", "project": "p", "user": "u"}
    mine = Scope(Service.REKALL, **parts)
    others = {**parts, "service": Service.REKALL}
    others[field] = Service.MEMORYSYNC if field == "service" else "other"
    theirs = Scope(**others)  # type: ignore[arg-type]  # the dict mixes the two types
    store.add(mine, NewItem("I drink sencha", key="k"), Fate.STORED, now=1.0)
    assert store.search(theirs, "sencha", 5) == []
    assert store.memories(theirs, 5) == []
    assert store.find_key(theirs, "k", Fate.STORED) is None
    assert len(store.search(mine, "sencha", 5)) == 1
    store.close()


def test_scopes_whose_parts_join_alike_are_different() -> None:
    store = Store()
    scopes = [
        Scope(Service.REKALL, *parts)
        for parts in itertools.product(["", "a", "ab"], ["", "b", "a"], ["x"], ["y", "xy"])
    ]
    for scope in scopes:
        store.add(scope, NewItem("I drink sencha"), Fate.STORED, now=1.0)
    assert [len(store.search(scope, "sencha", 100)) for scope in scopes] == [1] * len(scopes)
    store.close()


def test_ignored_writes_are_never_found() -> None:
    store = Store()
    scope = Scope(Service.MEMORYSYNC, "a", "t", "p", "u")
    store.add(scope, NewItem("Norway's capital is Oslo"), Fate.IGNORED, now=1.0)
    assert store.search(scope, "Oslo", 5) == []
    assert store.memories(scope, 5) == []
    store.close()


def test_added_item_is_what_is_stored() -> None:
    store = Store()
    scope = Scope(Service.MEMORYSYNC, "a", "t", "p", "u")
    new = NewItem("text", "type", "role", "speaker", "source", "occurred_at", '{"m": 1}', "key")
    added = store.add(scope, new, Fate.STORED, now=7.5)
    assert store.items() == [added]
    assert (added.text, added.type, added.role, added.speaker) == (
        "text",
        "type",
        "role",
        "speaker",
    )
    assert (added.source, added.occurred_at) == ("source", "occurred_at")
    assert (added.metadata, added.key, added.deliveries) == ('{"m": 1}', "key", 1)
    store.close()
