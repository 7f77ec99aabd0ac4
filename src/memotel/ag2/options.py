"""The settings of a capability that are the same for both services, each with its `MEMOTEL_*` variable."""

import ssl
from typing import TypedDict

from memotel.config import (
    BreakerPolicy,
    NetworkPolicy,
    OnFull,
    OutboxPolicy,
    PermitPolicy,
    RecallPolicy,
    Redact,
    RetryPolicy,
    WritePolicy,
)


class Options(TypedDict, total=False):
    """Seconds, counts and characters; what is left out comes from the environment, then from the defaults."""

    top_k: int | None
    recall_timeout: float | None
    search_timeout: float | None
    min_prompt_chars: int | None
    min_score: float | None
    max_prompt_chars: int | None
    max_context_chars: int | None
    max_recalls_in_flight: int | None
    write_timeout: float | None
    exit_drain_timeout: float | None
    outbox: str | None
    outbox_max_writes: int | None
    outbox_max_bytes: int | None
    on_full: OnFull | None
    redact: Redact | None
    proxy: str | None
    verify: bool | str | ssl.SSLContext | None
    cert: str | tuple[str, ...] | None
    keepalive: float | None
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
