"""The two hashes, against fixed vectors and a second way to compute them."""

import hashlib
import sys
from collections import Counter
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotel.backends import fingerprints
from memotel.backends.fingerprints import digest, fnv1a64, remembered_fnv1a64

LONG = "ai:I keep seven hives of bees. " * 500
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", "cbf29ce484222325"),  # the offset basis
        ("a", "af63dc4c8601ec8c"),  # the published vector: one code unit is one byte here
        ("foobar", "85944171f73967e8"),  # the published vector
        ("human:hello", "dc7ad99e64417378"),  # of the service's own adapters
    ],
)
def test_fnv1a64_matches_the_fixed_vectors(text: str, value: str) -> None:
    assert fnv1a64(text) == value


@given(ANY_TEXT)
def test_fnv1a64_steps_over_utf16_code_units(text: str) -> None:
    data = text.encode("utf-16-le", "surrogatepass")
    value = 0xCBF29CE484222325
    for low, high in zip(data[::2], data[1::2], strict=True):
        value = (value ^ (low | high << 8)) * 0x100000001B3 % 2**64
    assert fnv1a64(text) == f"{value:016x}"


def test_digest_is_blake2b_of_the_parts_behind_their_lengths() -> None:
    expected = hashlib.blake2b("1:a3:bü".encode(), digest_size=16).hexdigest()
    assert digest("a", "bü") == expected


@given(st.lists(ANY_TEXT, max_size=4), st.lists(ANY_TEXT, max_size=4))
def test_digest_tells_sequences_of_parts_apart(one: list[str], other: list[str]) -> None:
    assert (digest(*one) == digest(*other)) is (one == other)


@given(st.lists(st.text("0123456789:ab"), min_size=2), st.data())
def test_digest_does_not_change_sides_at_a_boundary(parts: list[str], data: st.DataObject) -> None:
    whole = "".join(parts)
    cut = data.draw(st.integers(0, len(whole)))
    other = [whole[:cut], whole[cut:]]
    assert (digest(*parts) == digest(*other)) is (parts == other)


def test_a_text_is_worked_out_once() -> None:
    called: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called[frame.f_code.co_name] += 1

    sys.setprofile(note)
    try:
        found = {remembered_fnv1a64(LONG) for _ in range(3)}
    finally:
        sys.setprofile(None)
    assert called["fnv1a64"] == 1
    assert found == {fnv1a64(LONG)}


def test_texts_are_told_apart_however_many_there_are() -> None:
    texts = [f"human:text {number}" for number in range(3_000)]
    for _ in range(2):
        assert [remembered_fnv1a64(text) for text in texts] == [fnv1a64(text) for text in texts]


def test_what_is_kept_is_bounded_and_holds_no_words() -> None:
    for number in range(3_000):
        remembered_fnv1a64(f"a secret {number}")
    assert len(fingerprints._known) <= 1_024
    assert "secret" not in repr(fingerprints._known)
