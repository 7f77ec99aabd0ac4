"""The settings that every adapter takes by name, beside those that its own signature gives."""

import os
import ssl
from typing import TypedDict

from memotel.config import (
    BreakerPolicy,
    Engine,
    NetworkPolicy,
    OnFull,
    OutboxPolicy,
    PermitPolicy,
    RecallPolicy,
    Redact,
    RetryPolicy,
    WatchdogPolicy,
    WritePolicy,
)


class SharedOptions(TypedDict, total=False):
    """What is left out, or None, comes from the environment, then from the defaults; the README's table says more."""

    search_timeout: float | None
    min_prompt_chars: int | None
    min_score: float | None
    max_prompt_chars: int | None
    max_context_chars: int | None
    max_recalls_in_flight: int | None
    exit_drain_timeout: float | None
    outbox: str | None
    outbox_max_writes: int | None
    outbox_max_bytes: int | None
    on_full: OnFull | None
    redact: Redact | None
    proxy: str | None
    verify: bool | str | os.PathLike[str] | ssl.SSLContext | None
    cert: str | tuple[str, ...] | None
    keepalive: float | None
    http_engine: Engine | None
    propagate: bool | None
    transport: object | None
    record_session_id: bool | None
    allow_insecure_http: bool | None
    account: str | None
    recall: RecallPolicy | None
    breaker: BreakerPolicy | None
    retry: RetryPolicy | None
    permits: PermitPolicy | None
    writes: WritePolicy | None
    outbox_policy: OutboxPolicy | None
    network: NetworkPolicy | None
    watchdog: WatchdogPolicy | None
