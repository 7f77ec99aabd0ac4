"""How messages name what was given, and what was probably meant."""

import difflib
from collections.abc import Iterable


def kind_of(value: object) -> str:
    """Return what a value is, with its article: "an int"; never the value, which may be a secret."""
    return with_article(type(value).__name__)


def with_article(noun: str) -> str:
    """Return a noun with "a" or "an" before it."""
    return f"{'an' if noun[:1].lower() in set('aeiou') else 'a'} {noun}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" with the nearest of the known words, or nothing where none is near."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.75)
    return f"; did you mean {near[0]}?" if near else ""
