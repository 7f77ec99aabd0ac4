"""The pure parts: relevance, turns, limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotel.devserver.limits import Meter, RateLimit
from memotel.devserver.relevance import MAX_WORDS, Match, scores, words_of
from memotel.devserver.routes import Route, Service, list_parts, route_of, routes_named
from memotel.devserver.turns import fact_of, is_a_persons, is_low_value

RECALL, ADD = Route.MEMORYSYNC_RECALL, Route.MEMORYSYNC_ADD_TURN


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("What is my favourite colour?", ("favourite", "colour")),
        ("tea, tea and TEA", ("tea",)),
        ("a_b-c", ("b", "c")),
        ("who are you?", ()),
        ("!?", ()),
        ("日本 tea", ("日本", "tea")),
    ],
)
def test_words_of_a_query(query: str, words: tuple[str, ...]) -> None:
    assert words_of(query) == words


def test_words_of_a_long_query_are_bounded() -> None:
    assert len(words_of(" ".join(f"word{n}" for n in range(1000)))) == MAX_WORDS


@given(
    st.dictionaries(st.integers(), st.tuples(st.integers(1, 5), st.floats(0.0, 50.0)), min_size=1)
)
def test_scores_are_from_0_to_1_and_the_best_comes_first(
    found: dict[int, tuple[int, float]],
) -> None:
    matches = {memory: Match(words, bm25) for memory, (words, bm25) in found.items()}
    ranked = scores(matches, word_count=5)
    assert list(ranked.values()) == sorted(ranked.values(), reverse=True)
    assert all(0.0 <= score <= 1.0 for score in ranked.values())
    assert set(ranked) == set(matches)


def test_score_is_1_for_the_best_match_of_all_words() -> None:
    assert scores({1: Match(2, 3.0), 2: Match(1, 1.5)}, word_count=2) == {1: 1.0, 2: 0.375}


@pytest.mark.parametrize(
    ("role", "speaker", "text", "is_person"),
    [
        ("user", "ai@s", "ai: x", True),
        ("assistant", "human@s", "human: x", False),
        ("", "human@s", "ai: x", True),
        ("", "ai@s", "x", False),
        ("", "", "ai: x", False),
        ("", "", "human: x", True),
        ("", "", "no speaker at all", True),
        ("tool", "", "x", False),
    ],
)
def test_role_says_who_spoke_then_the_speaker_then_the_text(
    role: str, speaker: str, text: str, is_person: bool
) -> None:
    assert is_a_persons(role, speaker, text) is is_person


@pytest.mark.parametrize(
    "text", ["", "human: ok", "OK!!", "thank you.", "human:  Got it", "...", "🎉"]
)
def test_low_value_texts(text: str) -> None:
    assert is_low_value(text)


@pytest.mark.parametrize("text", ["ok, I moved to Oslo", "7", "Rex", "human: no meat for me"])
def test_texts_that_hold_something(text: str) -> None:
    assert not is_low_value(text)


def test_fact_is_what_was_said() -> None:
    assert fact_of("human: I drink sencha") == "I drink sencha"
    assert fact_of("my human: a cat's view") == "my human: a cat's view"


def test_meter_refuses_above_the_limit_until_the_window_ends() -> None:
    meter = Meter(RateLimit(per_s=2), None)
    taken = [meter.take(RECALL, now) for now in (10.0, 10.1, 10.2, 11.0)]
    assert [one and one.remaining for one in taken] == [1, 0, 0, 1]
    assert [one and one.retry_after_s for one in taken] == [None, None, 1.0, None]


def test_meter_counts_no_refused_request() -> None:
    meter = Meter(RateLimit(per_s=1, per_min=2), None)
    taken = [meter.take(RECALL, now) for now in (0.0, 0.1, 0.2, 1.0, 2.0)]
    assert [one is not None and one.retry_after_s is None for one in taken] == [
        *(True, False, False),
        *(True, False),
    ]
    assert taken[4] is not None
    assert taken[4].retry_after_s == 58.0


def test_meter_counts_searches_apart() -> None:
    meter = Meter(RateLimit(searches_per_min=1), None)
    taken = [meter.take(route, 0.0) for route in (RECALL, RECALL, ADD)]
    assert taken[1] is not None
    assert taken[1].retry_after_s == 60.0
    assert taken[2] is None


def test_tightest_window_is_told() -> None:
    allowance = Meter(RateLimit(per_s=5, per_min=3), None).take(RECALL, 0.0)
    assert allowance is not None
    assert (allowance.limit, allowance.window_s, allowance.remaining) == (3, 60, 2)
    assert allowance.reset_at == 60.0


def test_routes_are_named_by_method_and_path() -> None:
    assert route_of("POST", "/v1/memory/recall") is RECALL
    assert route_of("GET", "/v1/memory/t%2F1/a%20b/list") is Route.MEMORYSYNC_LIST
    assert route_of("GET", "/v1/memory/recall") is None
    assert list_parts("/v1/memory//ada/list") is None


def test_targets_name_sets_of_routes() -> None:
    assert routes_named("*") == frozenset(Route)
    assert routes_named("memorysync.recall") == {RECALL}
    assert {route.service for route in routes_named("rekall")} == {Service.REKALL}
    assert routes_named("recalls").isdisjoint(routes_named("writes"))
    with pytest.raises(ValueError, match="'nowhere' is no target; one of: "):
        routes_named("nowhere")
