"""Memory middleware for agents, with the instruments on.

`MemoryClient` is the core under every adapter; attach one with `rekall_autogen.RekallMemory` or
`ag2_memorysync.MemorySyncCapability`. Telemetry is switched on with `memotel.telemetry.setup(...)`.
Importing this package is cheap: a name is loaded when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memotel.public import *  # noqa: F403 # the one list of names is there

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
    "WatchdogPolicy",
    "WriteOutcome",
    "WritePolicy",
    "drain_on_sigterm",
    "resolve",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'memotel' has no attribute {name!r}")
    return getattr(importlib.import_module("memotel.public"), name)
