"""What leaves as a prompt and what reaches a model."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotel.policy.hygiene import build_context, clean, cut_prompt, relevant
from memotel.values import Memories, Memory


def memories(*texts: str, context: str = "", score: float | None = None) -> Memories:
    return Memories(tuple(Memory(None, t, score) for t in texts), context)


def test_prompt_is_cut_at_a_word() -> None:
    cut = cut_prompt("one two three four", 12)

    assert cut.text == "one two"
    assert cut.is_cut


@given(st.text(max_size=300), st.integers(1, 200))
def test_prompt_is_never_longer_than_allowed_and_always_a_beginning(
    text: str, max_chars: int
) -> None:
    cut = cut_prompt(text, max_chars)

    assert len(cut.text) <= max_chars
    assert text.startswith(cut.text)
    assert cut.is_cut == (len(text) > max_chars)


@given(st.text(max_size=300))
def test_clean_text_has_no_control_characters_but_line_breaks_and_tabs(text: str) -> None:
    cleaned = clean(text)

    assert all(unicodedata.category(c) != "Cc" or c in "\n\t" for c in cleaned)
    assert not any(c in cleaned for c in "\u202e\u2066\u2028\ufeff")


def test_context_is_the_services_block_where_it_fits() -> None:
    found = memories("likes tea", context="Likes tea.\x00")

    assert build_context(found, 100).text == "Likes tea."


def test_context_is_cut_at_a_whole_memory() -> None:
    found = memories("likes tea", "has a cat named Tom", context="x" * 500)

    cut = build_context(found, 20)

    assert cut.text == "- likes tea"
    assert cut.is_cut


def test_context_passes_over_a_memory_that_does_not_fit() -> None:
    cut = build_context(memories("x" * 100, "likes tea", context="y" * 500), 20)

    assert cut.text == "- likes tea"
    assert cut.is_cut


def test_context_of_one_memory_too_large_is_its_beginning() -> None:
    cut = build_context(memories("x" * 100), 20)

    assert cut.text == "- " + "x" * 18
    assert cut.is_cut


def test_context_of_a_block_alone_is_cut_at_a_line() -> None:
    cut = build_context(memories(context="first line\nsecond line"), 15)

    assert cut.text == "first line"
    assert cut.is_cut


@given(st.lists(st.text(max_size=60), max_size=8), st.text(max_size=200), st.integers(1, 150))
def test_context_is_never_longer_than_allowed(texts: list[str], block: str, max_chars: int) -> None:
    cut = build_context(memories(*texts, context=block), max_chars)

    assert len(cut.text) <= max_chars


@pytest.mark.parametrize(("min_score", "kept"), [(None, 2), (0.5, 1), (0.95, 0)])
def test_relevance_takes_away_what_scores_too_low(min_score: float | None, kept: int) -> None:
    found = Memories((Memory("a", "tea", 0.9), Memory("b", "cat", 0.1)), "tea, cat")

    result = relevant(found, min_score)

    assert len(result.items) == kept
    assert result.context == ("tea, cat" if kept == 2 else "")


def test_relevance_keeps_a_memory_without_a_score() -> None:
    assert relevant(memories("tea"), 0.9).items[0].text == "tea"


def test_relevance_does_not_show_the_question_as_a_memory() -> None:
    found = memories("human: Which  tea do I like?", "likes Assam", context="both")

    result = relevant(found, None, "Which tea do I like?")

    assert [m.text for m in result.items] == ["likes Assam"]
    assert result.context == ""
