"""Rows 1 and 2: what the services allow, and what the circuit breaker makes of their failures."""

from dashboards.generator import colours
from dashboards.generator.board import Row
from dashboards.generator.looks import MUST_BE_ZERO
from dashboards.generator.panels import Look, Query, Text, Tile, lines, stat_panel
from dashboards.generator.promql import counter, gauge, rate, ratio, total
from dashboards.generator.protection.common import circuit, quota, retries
from grafana_foundation_sdk.models import units

from memotel.counts import Count, Gauge
from memotel.outcomes import CircuitState, Outcome, QuotaState, RetryCause

_USED_UP = {"state": (QuotaState.LIMITED, QuotaState.SILENT)}
_NOT_CLOSED = {"state": (CircuitState.OPEN, CircuitState.HALF_OPEN)}
_RECALLS = counter(Count.RECALLS)

CIRCUITS = Row(
    "Are the services well?",
    (
        circuit(1, width=12),
        Tile(
            2,
            lines(
                Text(
                    "Circuit transitions",
                    "Changes of a circuit breaker's state per second, by the state it changed to.",
                    "open again and again: the service comes and goes, and each return is a probe.",
                    "ask the service; a longer `open_s` in the breaker policy calms it.",
                    ("CircuitOpen",),
                ),
                Look(units.OpsPerSecond, colours=colours.CIRCUIT),
                Query(rate(counter(Count.CIRCUIT_TRANSITIONS), "to"), "{{to}}"),
                is_low=True,
            ),
            width=6,
            height=6,
        ),
        Tile(
            3,
            lines(
                Text(
                    "Circuits not closed",
                    "Share of the accounts whose circuit is open or half-open, by provider.",
                    "100 %: every agent runs without memory from that provider.",
                    "one process alone: its network. All of them: the service.",
                    ("CircuitOpen",),
                ),
                Look(units.PercentUnit, maximum=1),
                Query(
                    ratio(
                        total(gauge(Gauge.CIRCUIT_STATE), "provider", only=_NOT_CLOSED),
                        total(gauge(Gauge.CIRCUIT_STATE), "provider"),
                        "provider",
                    ),
                    "{{provider}}",
                ),
                is_low=True,
            ),
            width=6,
            height=6,
        ),
        retries(4, width=12),
        Tile(
            5,
            lines(
                Text(
                    "Recalls kept off the service",
                    "Recalls per second that were not sent: the circuit was open, or no permit was free.",
                    "circuit_open is the breaker at work. shed: this process asks for more than it may have in flight.",
                    "circuit_open: see *Circuit*. shed: see *Recalls in flight*.",
                ),
                Look(units.OpsPerSecond, colours=colours.KEPT_OFF),
                Query(
                    rate(
                        _RECALLS,
                        "outcome",
                        only={"outcome": (Outcome.CIRCUIT_OPEN, Outcome.SHED)},
                    ),
                    "{{outcome}}",
                ),
                is_stacked=True,
            ),
            width=12,
        ),
    ),
)

PLANS = Row(
    "What do the services allow?",
    (
        quota(11, width=12),
        Tile(
            12,
            stat_panel(
                Text(
                    "Accounts over quota",
                    "Accounts whose plan is used up, added up over processes.",
                    "1 or more: these agents have lost their memory until the plan is renewed or raised.",
                    "see in *Quota* since when, then raise the plan; parked writes are sent when it returns.",
                    ("SilentQuota",),
                ),
                Look(units.Short, ((None, "green"), (1, "purple"))),
                Query(total(gauge(Gauge.QUOTA_STATE), only=_USED_UP), "accounts"),
                no_value="no accounts",
            ),
            width=4,
            height=6,
        ),
        Tile(
            13,
            stat_panel(
                Text(
                    "Keys rejected",
                    "Accounts whose key or token the service does not accept, added up over processes.",
                    "1 or more: nothing is recalled or stored for them; writes wait in the outbox.",
                    "check MEMORYSYNC_API_KEY or REKALL_API_KEY where the agent runs.",
                    ("KeyRejected",),
                ),
                MUST_BE_ZERO,
                Query(total(gauge(Gauge.CREDENTIALS_REJECTED)), "accounts"),
                no_value="no accounts",
            ),
            width=4,
            height=6,
        ),
        Tile(
            14,
            stat_panel(
                Text(
                    "Rate limit left",
                    "The fewest requests that a service still allows any account in its window. Only services that say so in "
                    "their answers have a number here.",
                    "near 0: further recalls end as rate_limited, writes wait.",
                    "lower the load, spread it over accounts, or raise the plan.",
                ),
                Look(units.Short, ((None, "red"), (10, "orange"), (50, "green"))),
                Query(total(gauge(Gauge.RATELIMIT_REMAINING), how="min"), "requests"),
                no_value="not said",
            ),
            width=4,
            height=6,
        ),
        Tile(
            15,
            lines(
                Text(
                    "Degraded by quota",
                    "Operations per second that a used-up plan spoilt, said (strict) or unsaid (silent).",
                    "anything above 0.",
                    "raise the plan; *Accounts over quota* counts how many accounts it concerns.",
                    ("SilentQuota",),
                ),
                Look(units.OpsPerSecond, colours=colours.QUOTA_DEGRADED),
                Query(
                    rate(counter(Count.QUOTA_DEGRADED), "operation", "mode"),
                    "{{operation}} {{mode}}",
                ),
            ),
            width=12,
        ),
        Tile(
            16,
            lines(
                Text(
                    "Rate limited",
                    "Per second: recalls that a rate limit ended, and attempts that it had repeated.",
                    "recalls above 0: replies are made without memory because agents ask too fast.",
                    "see *Rate limit left*; lower the load or raise the plan.",
                ),
                Look(units.OpsPerSecond),
                Query(rate(_RECALLS, only={"outcome": (Outcome.RATE_LIMITED,)}), "recalls"),
                Query(
                    rate(counter(Count.RETRIES), only={"cause": (RetryCause.RATE_LIMIT,)}),
                    "repeated",
                ),
            ),
            width=12,
        ),
    ),
)
