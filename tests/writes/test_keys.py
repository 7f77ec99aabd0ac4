"""The idempotency key: one per write, whoever computes it."""

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from memotel.backends.fingerprints import digest
from memotel.outcomes import Speaker
from memotel.values import Scope
from memotel.writes.keys import by_message_id, by_occurrence, fnv1a64, idempotency_key

FEW = st.text("ab:1|\x1f", max_size=4)
PARTS = st.tuples(FEW, FEW, FEW, st.sampled_from(Speaker), FEW, FEW)
Parts = tuple[str, str, str, Speaker, str, str]


def key_of(parts: Parts) -> str:
    account, user, session, speaker, text, discriminator = parts
    scope = Scope(user, session)
    return idempotency_key(account, scope, speaker, text, discriminator=discriminator)


def test_key_is_fixed_for_ever() -> None:
    key = key_of(("account", "ada", "s1", Speaker.HUMAN, "hello", by_occurrence(1)))
    assert key == "2b660b34724199e5fed110192aa40817"


def test_speaker_seed_vector_is_importable_beside_the_key() -> None:
    assert fnv1a64("human:hello") == "dc7ad99e64417378"


@given(st.tuples(*[st.text(max_size=6)] * 5))
@example(("a", "zo\u00eb", "s", "hi", "n:1"))
@example(("a", "u", "s", "\U0001f642", "n:1"))
def test_key_is_the_digest_of_its_parts_in_any_script(parts: tuple[str, ...]) -> None:
    account, user, session, text, discriminator = parts
    words = unicodedata.normalize("NFC", text)
    key = key_of((account, user, session, Speaker.AI, text, discriminator))
    assert key == digest("v1", account, user, session, "ai", words, discriminator)


@given(PARTS, PARTS)
@example(
    ("a", "b", "", Speaker.AI, "", ""),
    ("ab", "", "", Speaker.AI, "", ""),
)
@example(
    ("", "", "1:a", Speaker.AI, "", ""),
    ("", "1:a", "", Speaker.AI, "", ""),
)
def test_key_tells_any_two_writes_apart(one: Parts, other: Parts) -> None:
    assert (key_of(one) == key_of(other)) is (one == other)


@given(PARTS, st.integers(0, 5))
def test_key_changes_with_each_part(parts: Parts, index: int) -> None:
    is_speaker = isinstance(parts[index], Speaker)
    changed = Speaker.OTHER if is_speaker else f"{parts[index]}b"
    if is_speaker and parts[index] is Speaker.OTHER:
        changed = Speaker.HUMAN
    other = (*parts[:index], changed, *parts[index + 1 :])
    assert key_of(other) != key_of(parts)


@given(st.text())
def test_key_takes_equal_words_as_one_however_composed(text: str) -> None:
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    assert len({key_of(("a", "u", "s", Speaker.HUMAN, form, "n:1")) for form in forms}) == 1


def test_key_takes_users_as_they_are_however_alike_they_look() -> None:
    composed, decomposed = "zo\u00eb", "zoe\u0308"
    parts: Parts = ("a", composed, "s", Speaker.HUMAN, "hi", "n:1")
    assert key_of(parts) != key_of(("a", decomposed, *parts[2:]))


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_key_of_any_text_is_32_hex_digits(text: str) -> None:
    key = key_of((text, text, text, Speaker.AI, text, text))
    assert len(key) == 32
    assert int(key, 16) >= 0


def test_message_id_and_occurrence_never_meet() -> None:
    assert by_message_id("1") == "id:1"
    assert by_occurrence(2) == "n:2"
    scope = Scope("u", "s")
    keys = {
        idempotency_key("a", scope, Speaker.HUMAN, "hi", discriminator=discriminator)
        for discriminator in (by_message_id("1"), by_message_id("n:1"), by_occurrence(1))
    }
    assert len(keys) == 3
