"""What holds where nobody sets anything: the numbers that the documentation promises."""

import pytest

from memotel.config import (
    BreakerPolicy,
    NetworkPolicy,
    OutboxPolicy,
    PermitPolicy,
    RecallPolicy,
    RetryPolicy,
    WatchdogPolicy,
    WritePolicy,
)
from memotel.policy.pauses import CredentialLatch

DAY_S = 86_400.0
DEFAULTS: dict[type, dict[str, object]] = {
    RecallPolicy: {
        "budget_s": 1.2,
        "top_k": 5,
        "min_prompt_chars": 8,
        "min_score": None,
        "max_prompt_chars": 4_000,
        "max_context_chars": 8_000,
    },
    BreakerPolicy: {
        "failure_share": 0.5,
        "window_s": 10.0,
        "min_calls": 10,
        "consecutive_timeouts": 3,
        "min_timeout_budget_s": 0.5,
        "min_timeout_p50_multiple": 4.0,
        "open_s": 5.0,
        "max_open_s": 10.0,
        "jitter_share": 0.1,
    },
    RetryPolicy: {"capacity": 500, "transient_cost": 14, "throttling_cost": 5},
    PermitPolicy: {"recalls": 128, "wait_share": 0.1},
    WatchdogPolicy: {
        "grace_s": 1.0,
        "max_lag_s": 0.2,
        "min_interval_s": 60.0,
        "retire_after_s": 30.0,
    },
    WritePolicy: {
        "max_in_flight": 8,
        "initial_in_flight": 4,
        "attempt_budget_s": 5.0,
        "backoff_initial_s": 0.25,
        "backoff_max_s": 300.0,
        "credentials_recheck_s": 60.0,
        "max_age_s": 7 * DAY_S,
        "poison_attempts": 8,
        "max_parked_share": 0.5,
        "max_parked_age_s": 32 * DAY_S,
        "recall_yield_s": 0.05,
        "exit_drain_s": 5.0,
    },
    OutboxPolicy: {
        "url": "memory",
        "max_writes": 10_000,
        "max_bytes": 32 * 2**20,
        "on_full": "drop_newest",
        "max_dead_letters": 10_000,
        "dead_letter_max_age_s": 30 * DAY_S,
        "log_interval_s": 60.0,
    },
    NetworkPolicy: {"keepalive_s": 50.0, "engine": "auto", "verify": True},
    CredentialLatch: {"recheck_s": 60.0},
}


@pytest.mark.parametrize("policy", DEFAULTS, ids=lambda policy: policy.__name__)
def test_defaults_are_the_documented_ones(policy: type) -> None:
    made = policy()
    assert {name: getattr(made, name) for name in DEFAULTS[policy]} == DEFAULTS[policy]
