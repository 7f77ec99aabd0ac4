"""The plain values that travel through memotel: who, what is asked, what came back.

Adapters turn framework shapes into these; backends turn these into wire formats.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from memotel.outcomes import Adapter, Outcome, QuotaEvidence, Speaker, WriteOutcome

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
"""A decoded JSON value."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory: the user, and the session (conversation) that a turn belongs to.

    `user_id` may be empty where the service derives the user from the credential (Rekall): then it is all that the
    credential sees.
    """

    user_id: str = ""
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class Recall:
    """A question to memory that a reply waits for."""

    scope: Scope
    prompt: str
    top_k: int = 5
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """An explicit question to memory, whose errors the caller wants to see."""

    scope: Scope
    query: str
    limit: int = 5
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """One recalled item.

    Attributes:
        id: the service's id, or None where it sent none.
        text: what is remembered.
        score: relevance, 0 to 1, or None where the service sent none.
        metadata: the service's own fields for this item.
        record: the item exactly as the service sent it (for callers who want the service's dict).
        user_id: whose it is, where the service keeps several users' memories together and the item says so; else None.
    """

    id: str | None
    text: str
    score: float | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    record: Mapping[str, Json] = field(default_factory=dict)
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class Memories:
    """What a service answered to a recall or a search, best first.

    `context` is the service's own ready text block (MemorySync's recall), empty where it sends none.
    """

    items: tuple[Memory, ...] = ()
    context: str = ""
    request_id: str | None = None

    def is_empty(self) -> bool:
        """Whether nothing came back: no item and no ready text."""
        return not self.items and not self.context.strip()


@dataclass(frozen=True, slots=True)
class RecallResult:
    """How a recall ended. `context` is the text to show the model, empty unless outcome is `hit`."""

    outcome: Outcome
    memories: tuple[Memory, ...] = ()
    context: str = ""
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance, as an adapter saw it.

    Attributes:
        scope: whose memory it goes to.
        speaker: whose words they are; follows the speaker, never the hook that saw them.
        text: the words, unchanged.
        speaker_name: the agent's name, where known.
        message_id: the framework's own id of the message, where it has one.
        observer: who saw it (an agent's name, a hook); a second observer of one utterance is an echo.
        said_at: ISO 8601 time of the utterance, in UTC.
        source: the name under which the service files it ("ag2", "autogen").
        metadata: further fields for the service; memotel adds its own beside them.
    """

    scope: Scope
    speaker: Speaker
    text: str
    speaker_name: str | None = None
    message_id: str | None = None
    observer: str = ""
    said_at: str | None = None
    source: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict)


class Write(NamedTuple):
    """A turn with its identity, as the outbox keeps it and the backend sends it.

    Attributes:
        turn: the words and where they go.
        key: idempotency key, the same on every attempt.
        occurrence: which genuine repeat of (speaker, text) in its session this is, from 1.
        account: account key that it belongs to; never a credential.
        accepted_at: wall-clock seconds when it was accepted.
        trace: `traceparent` of the span that was current at accept, or None.
    """

    turn: Turn
    key: str
    account: str
    accepted_at: float
    adapter: Adapter
    occurrence: int = 1
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """What a service answered to a write.

    Attributes:
        outcome: the terminal outcome; `QUOTA` parks the write instead.
        evidence: what the answer says of the plan, or None where it says nothing.
        record_id: the id of the stored record, where the service gave one.
        record: the answer as the service sent it.
        request_id: the service's request id.
    """

    outcome: WriteOutcome
    evidence: QuotaEvidence | None = None
    record_id: str | None = None
    record: Mapping[str, Json] = field(default_factory=dict)
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Save:
    """An explicit add of one text that the caller waits for.

    `key` is new for each save, and the same on each attempt of it: saying a thing twice keeps it twice.
    """

    scope: Scope
    text: str
    source: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict)
    key: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True, slots=True)
class FlushReport:
    """What a flush left behind.

    Attributes:
        delivered: writes that reached a kept end (stored, duplicate, ignored) during the flush.
        pending: writes that are still in the outbox, in flight or parked.
        failed: writes that ended without being kept during the flush.
    """

    delivered: int
    pending: int
    failed: int


class ReceiptStatus(StrEnum):
    """What became of a turn that was handed over."""

    ACCEPTED = "accepted"
    ECHO = "echo"
    REDELIVERY = "redelivery"
    REFUSED = "refused"


class Receipt(NamedTuple):
    """The answer to `write`: what became of the turn, and the key it has."""

    status: ReceiptStatus
    key: str = ""
