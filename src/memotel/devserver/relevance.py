"""What a search looks for, and how BM25 becomes a score from 0 to 1.

A development server's idea of relevance: words in common, no meaning. A real memory service
finds more, and scores otherwise.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MAX_WORDS: Final = 32
_WORD: Final = re.compile(r"[^\W_]+")
_STOP_WORDS: Final = frozenset(
    [
        "a",
        "about",
        "am",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "his",
        "how",
        "i",
        "if",
        "in",
        "is",
        "it",
        "its",
        "me",
        "my",
        "not",
        "of",
        "on",
        "or",
        "our",
        "she",
        "should",
        "so",
        "tell",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "they",
        "this",
        "to",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "ai",
        "human",
    ]
)


def words_of(query: str) -> tuple[str, ...]:
    """Return the query's distinct words that carry meaning, at most `MAX_WORDS`, in order."""
    words = (word for word in _WORD.findall(query.lower()) if word not in _STOP_WORDS)
    return tuple(dict.fromkeys(words))[:MAX_WORDS]


@dataclass(slots=True)
class Match:
    """One memory's words in common with a query: how many, and their BM25 (0 or more) in sum."""

    words: int = 0
    bm25: float = 0.0


def scores(matches: Mapping[int, Match], word_count: int) -> dict[int, float]:
    """Map each memory's match to 0..1, the best first.

    A score is the share of the query's words that the memory has, times a half to one by its
    BM25 relative to the best BM25 of this answer. (BM25 alone is near 0 for a word that most
    memories have, which in a store of three memories is nearly every word.)
    """
    best = max((match.bm25 for match in matches.values()), default=0.0) or 1.0
    ranked = {
        memory: round(match.words / word_count * (0.5 + 0.5 * match.bm25 / best), 4)
        for memory, match in matches.items()
    }
    return dict(sorted(ranked.items(), key=lambda pair: (-pair[1], -pair[0])))
