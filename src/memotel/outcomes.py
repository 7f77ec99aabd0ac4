"""The closed sets: every outcome, state and label value that memotel can report.

Metrics take their labels from here and from nowhere else, so no label can grow without bound.
"""

from enum import StrEnum


class Word(StrEnum):
    """A word of a closed set. It is hashed as the text that it is: Enum's own way is Python, and labels are hashed often."""

    __hash__ = str.__hash__


class Provider(Word):
    """A memory service."""

    MEMORYSYNC = "memorysync"
    REKALL = "rekall"


class Adapter(Word):
    """What a memory is attached to."""

    AG2 = "ag2"
    AG2_V1 = "ag2_v1"
    AUTOGEN = "autogen"
    AGENT_FRAMEWORK = "agent_framework"
    DIRECT = "direct"


class Operation(Word):
    """What a call does. `SAVE` is an explicit add that the caller waits for."""

    RECALL = "recall"
    SEARCH = "search"
    SAVE = "save"
    WRITE = "write"


class Outcome(Word):
    """How a recall, search or save ended for its caller."""

    HIT = "hit"
    EMPTY = "empty"
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"
    RATE_LIMITED = "rate_limited"
    QUOTA = "quota"
    REJECTED = "rejected"
    CIRCUIT_OPEN = "circuit_open"
    SHED = "shed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    INTERNAL_ERROR = "internal_error"


class WriteOutcome(Word):
    """How an accepted write ended; each of these is terminal."""

    STORED = "stored"
    DUPLICATE = "duplicate"
    IGNORED = "ignored"
    QUOTA = "quota"
    REJECTED = "rejected"
    EXPIRED = "expired"
    DROPPED = "dropped"


class DedupeKind(Word):
    """Why an utterance was not written again. `REPLAY` is the service's own answer."""

    ECHO = "echo"
    REDELIVERY = "redelivery"
    REPLAY = "replay"


class RefusalReason(Word):
    """Why a write was never accepted.

    `FULL`: the outbox had no room. `REDACTED`: the user's own `redact` withheld it. `DISABLED`: an off switch or
    `paused()`. `CLOSED`: the memory was closed before. `INTERNAL_ERROR`: a hook of memotel failed before it could hand
    the turn over; the chat went on, and the log says so once a minute with the event `hook.write_failed`.
    """

    FULL = "full"
    REDACTED = "redacted"
    DISABLED = "disabled"
    CLOSED = "closed"
    INTERNAL_ERROR = "internal_error"


class Speaker(Word):
    """Whose words a turn holds."""

    HUMAN = "human"
    AI = "ai"
    OTHER = "other"


class Phase(Word):
    """Where a recall was when its deadline came."""

    QUEUE = "queue"
    TENANT = "tenant"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    WRITE = "write"
    READ = "read"
    RETRY = "retry"


class RetryCause(Word):
    """What made a second attempt worthwhile."""

    CONNECTION = "connection"
    STATUS = "status"
    RATE_LIMIT = "rate_limit"
    TIMEOUT = "timeout"


class CircuitState(Word):
    """State of an account's circuit breaker."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class QuotaState(Word):
    """What the evidence says of an account's plan."""

    OK = "ok"
    LIMITED = "limited"
    SILENT = "silent"


class QuotaEvidence(Word):
    """What one answer says of the plan: it works, it is silently over, it said so."""

    HEALTHY = "healthy"
    SILENT = "silent"
    STRICT = "strict"


class Part(Word):
    """What was cut to size, or switched off."""

    PROMPT = "prompt"
    CONTEXT = "context"
    RECALL = "recall"
    WRITES = "writes"
