"""The documented variants of the services' answers, to choose from."""

from dataclasses import dataclass
from enum import StrEnum


class ErrorShape(StrEnum):
    """How MemorySync writes an error that is neither a quota nor a list of invalid fields."""

    DETAIL = "detail"
    ERROR = "error"


class Envelope(StrEnum):
    """How Rekall wraps an answer."""

    BARE = "bare"
    DATA = "data"
    RESULTS = "results"
    MEMORIES = "memories"


class ScoreField(StrEnum):
    """The name of a score in Rekall's answers."""

    SCORE = "score"
    RELEVANCE = "relevance"
    SIMILARITY = "similarity"


class TextField(StrEnum):
    """The name of a memory's text in MemorySync's query answers."""

    VALUE = "value"
    TEXT = "text"
    RAW_TEXT = "raw_text"


class QuotaEvidence(StrEnum):
    """How ``add_turn`` tells that a silent quota swallowed the turn."""

    SKIPPED = "skipped"
    BARE_OK = "bare_ok"


@dataclass(frozen=True, slots=True)
class Shapes:
    """Which of the documented shapes the answers take."""

    envelope: Envelope = Envelope.DATA
    score: ScoreField = ScoreField.SCORE
    text: TextField = TextField.VALUE
    quota_evidence: QuotaEvidence = QuotaEvidence.SKIPPED
    error: ErrorShape = ErrorShape.DETAIL
