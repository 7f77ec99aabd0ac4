"""Row 1: the objectives, and what is wrong right now."""

from dashboards.generator import slo
from dashboards.generator.board import Row
from dashboards.generator.colours import GOOD, WARN
from dashboards.generator.looks import MUST_BE_ZERO, objective
from dashboards.generator.panels import (
    Look,
    Query,
    Text,
    Tile,
    stat_panel,
)
from dashboards.generator.promql import (
    counter,
    gauge,
    rate,
    ratio,
    total,
    within,
)
from dashboards.generator.sets import ANSWERED, KEPT, NOT_ASKED, PER_OUTBOX
from grafana_foundation_sdk.models import units

from memotel.counts import Count, Gauge
from memotel.outcomes import QuotaState
from memotel.telemetry import names

_RECALLS = counter(Count.RECALLS)
_WRITES = counter(Count.WRITES)

_ANSWERED = slo.percent(slo.RECALLS_ANSWERED)
_FAST = slo.percent(slo.RECALLS_FAST)
_KEPT = slo.percent(slo.WRITES_KEPT)


SERVED = Row(
    "Are agents served?",
    (
        Tile(
            1,
            stat_panel(
                Text(
                    "Recalls answered",
                    f"Share of recalls that the service answered, with memories or truly without. Objective {_ANSWERED}.",
                    f"below {_ANSWERED}: some replies are made without the memory they asked for.",
                    "see which outcome grows in *Recalls by outcome*.",
                    ("RecallErrorBudgetBurn",),
                ),
                objective(slo.RECALLS_ANSWERED),
                Query(
                    ratio(rate(_RECALLS, only=ANSWERED), rate(_RECALLS, but=NOT_ASKED)),
                    "answered",
                ),
            ),
            width=3,
            height=5,
        ),
        Tile(
            2,
            stat_panel(
                Text(
                    "Within 300 ms",
                    f"Share of answered recalls that took at most 300 ms. Objective {_FAST}.",
                    f"below {_FAST}: people wait noticeably longer for their replies.",
                    "look at p99 in *Recall latency*, then at *Timeouts by phase* for where the time goes.",
                    ("RecallLatencyBudgetBurn",),
                ),
                objective(slo.RECALLS_FAST),
                Query(
                    ratio(
                        within(names.RECALL_DURATION, slo.FAST_S, only=ANSWERED),
                        rate(names.RECALL_DURATION, only=ANSWERED, suffix="_count"),
                    ),
                    "fast",
                ),
            ),
            width=3,
            height=5,
        ),
        Tile(
            3,
            stat_panel(
                Text(
                    "Writes kept",
                    f"Share of finished writes that the service has, or found nothing worth keeping in. Objective {_KEPT}.",
                    f"below {_KEPT}: turns are being lost.",
                    "see which outcome grows in *Writes by outcome*.",
                    ("WriteLossBudgetBurn",),
                ),
                objective(slo.WRITES_KEPT),
                Query(ratio(rate(_WRITES, only=KEPT), rate(_WRITES)), "kept"),
                no_value="no writes",
            ),
            width=3,
            height=5,
        ),
        Tile(
            4,
            stat_panel(
                Text(
                    "Unaccounted for",
                    "Accepted writes that are neither finished nor pending. The books of every outbox must balance.",
                    "anything but 0 is a defect of memotel, not of the service.",
                    "note the instance and the version in *Instances* and report it.",
                    ("UnaccountedWrites",),
                ),
                MUST_BE_ZERO,
                Query(f"sum(abs({total(gauge(Gauge.UNACCOUNTED), *PER_OUTBOX)}))"),
                no_value="no outbox",
            ),
            width=3,
            height=5,
        ),
        Tile(
            5,
            stat_panel(
                Text(
                    "Over quota",
                    "Accounts whose plan is used up, whether the service says so or answers with silence.",
                    "1 or more: these agents have lost their memory until the plan is renewed or raised.",
                    "see in *Quota* since when, then raise the plan; parked writes are sent when it returns.",
                    ("SilentQuota",),
                ),
                Look(units.Short, ((None, GOOD), (1, "purple"))),
                Query(
                    total(
                        gauge(Gauge.QUOTA_STATE),
                        only={"state": (QuotaState.LIMITED, QuotaState.SILENT)},
                    )
                ),
                no_value="no accounts",
            ),
            width=3,
            height=5,
        ),
        Tile(
            6,
            stat_panel(
                Text(
                    "Keys rejected",
                    "Accounts whose key or token the service does not accept.",
                    "1 or more: nothing is recalled or stored for them; writes wait in the outbox.",
                    "check MEMORYSYNC_API_KEY or REKALL_API_KEY where the agent runs; a new key is picked up by itself.",
                    ("KeyRejected",),
                ),
                MUST_BE_ZERO,
                Query(total(gauge(Gauge.CREDENTIALS_REJECTED))),
                no_value="no accounts",
            ),
            width=3,
            height=5,
        ),
        Tile(
            8,
            stat_panel(
                Text(
                    "Disk failing",
                    "Outboxes on a disk that keep new writes in memory, because the disk fails.",
                    "1 or more: what waits there is lost if its process ends before the disk works again.",
                    "see on the Writes board which one; make room or mend the disk, and restart nothing before.",
                    ("OutboxDegraded",),
                ),
                Look(units.Short, ((None, GOOD), (1, WARN))),
                Query(total(gauge(Gauge.OUTBOX_DEGRADED))),
                no_value="no outbox",
            ),
            width=3,
            height=5,
        ),
        Tile(
            7,
            stat_panel(
                Text(
                    "Switched off",
                    "Processes in which MEMOTEL_DISABLED turns recall or writes off.",
                    "1 or more, unless somebody did it on purpose: those agents run without memory.",
                    "look for MEMOTEL_DISABLED in the environment of the process.",
                    ("MemoryDisabled",),
                ),
                Look(units.Short, ((None, GOOD), (1, WARN))),
                Query(total(gauge(Gauge.DISABLED))),
                no_value="no processes",
            ),
            width=3,
            height=5,
        ),
    ),
)
