"""What `memotel` exports, imported eagerly; `memotel` itself imports this at the first use of a name."""

from memotel.client import MemoryClient
from memotel.config import (
    BreakerPolicy,
    ClientSettings,
    NetworkPolicy,
    OutboxPolicy,
    PermitPolicy,
    RecallPolicy,
    RetryPolicy,
    WritePolicy,
)
from memotel.errors import (
    AuthenticationError,
    BudgetExceededError,
    CircuitOpenError,
    ConfigurationError,
    InvalidRequestError,
    MemotelError,
    OutboxFullError,
    QuotaExceededError,
    RateLimitedError,
    ResponseFormatError,
    ServiceError,
    ServiceUnavailableError,
    ShedError,
    TransportError,
)
from memotel.outcomes import Adapter, Outcome, Provider, Speaker, WriteOutcome
from memotel.settings import resolve
from memotel.values import FlushReport, Memories, Memory, RecallResult, Receipt, Scope, Turn
from memotel.writes.sigterm import drain_on_sigterm

__all__ = [
    "Adapter",
    "AuthenticationError",
    "BreakerPolicy",
    "BudgetExceededError",
    "CircuitOpenError",
    "ClientSettings",
    "ConfigurationError",
    "FlushReport",
    "InvalidRequestError",
    "Memories",
    "Memory",
    "MemoryClient",
    "MemotelError",
    "NetworkPolicy",
    "OutboxFullError",
    "OutboxPolicy",
    "Outcome",
    "PermitPolicy",
    "Provider",
    "QuotaExceededError",
    "RateLimitedError",
    "RecallPolicy",
    "RecallResult",
    "Receipt",
    "ResponseFormatError",
    "RetryPolicy",
    "Scope",
    "ServiceError",
    "ServiceUnavailableError",
    "ShedError",
    "Speaker",
    "TransportError",
    "Turn",
    "WriteOutcome",
    "WritePolicy",
    "drain_on_sigterm",
    "resolve",
]
