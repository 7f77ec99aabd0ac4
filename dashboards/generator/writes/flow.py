"""Row 2: accepted against finished, by outcome, by speaker, and what was recognised as one."""

from dashboards.generator import colours
from dashboards.generator.board import Row
from dashboards.generator.panels import Look, Query, Text, Tile, lines
from dashboards.generator.promql import counter, rate
from dashboards.generator.sets import LOST
from dashboards.generator.writes.common import WRITES, by_outcome
from grafana_foundation_sdk.models import units

from memotel.counts import Count

_IN = " + ".join(rate(counter(c)) for c in (Count.ACCEPTED, Count.ADOPTED, Count.RESENT))
_OUT = f"{rate(WRITES)} + {rate(counter(Count.HANDED_OVER))}"

FLOW = Row(
    "What becomes of the writes?",
    (
        Tile(
            11,
            lines(
                Text(
                    "In and out of the outbox",
                    "Writes per second that came in (accepted, adopted, sent again) and that left (finished, handed over).",
                    "out stays below in: the difference waits, and the outbox fills.",
                    "see *Outbox fill* for how far it is, *Writes by outcome* for what still gets through.",
                    ("UnaccountedWrites",),
                ),
                Look(units.OpsPerSecond, colours=colours.BOOKS),
                Query(_IN, "in"),
                Query(_OUT, "out"),
            ),
            width=8,
        ),
        by_outcome(12, width=8),
        Tile(
            13,
            lines(
                Text(
                    "Accepted by speaker",
                    "Accepted writes per second by whose words they are.",
                    "human falls to 0 while people talk: their side is not captured, and facts are made of it alone.",
                    "check `capture` and `persist_roles`, and which agent the capability is attached to.",
                ),
                Look(units.OpsPerSecond, colours=colours.SPEAKERS),
                Query(rate(counter(Count.ACCEPTED), "speaker"), "{{speaker}}"),
                is_stacked=True,
            ),
            width=8,
        ),
        Tile(
            14,
            lines(
                Text(
                    "Not written twice",
                    "Utterances that were recognised and not written again: echo (another hook saw it), redelivery (the same "
                    "turn again), replay (the service had it).",
                    "redelivery or replay far above normal: something repeats whole turns.",
                    "look for a restart loop, or a capability attached to two agents of one chat.",
                ),
                Look(units.OpsPerSecond, colours=colours.DEDUPE_KINDS),
                Query(rate(counter(Count.DEDUPLICATED), "kind"), "{{kind}}"),
                is_stacked=True,
            ),
            width=8,
        ),
        Tile(
            15,
            lines(
                Text(
                    "Lost writes",
                    "Writes per second that ended without being kept; rejected ones are dead letters.",
                    "anything above 0: those turns are not in the memory.",
                    "rejected: look at the dead letters. dropped: durable outbox. quota, expired: raise the plan or the patience.",
                    ("DeadLetters", "WriteLossBudgetBurn"),
                ),
                Look(units.OpsPerSecond, colours=colours.WRITE_OUTCOMES),
                Query(rate(WRITES, "outcome", only=LOST), "{{outcome}}"),
                is_stacked=True,
            ),
            width=8,
        ),
        Tile(
            16,
            lines(
                Text(
                    "Refused before acceptance",
                    "Writes per second that never came into the outbox, by reason.",
                    "full: the outbox has no room and `on_full` is raise. redacted: `redact` let nothing through, or failed.",
                    "full: see *Outbox fill*. redacted: try the function on a turn by hand. closed: a client is used after its end.",
                ),
                Look(units.OpsPerSecond),
                Query(rate(counter(Count.REFUSED), "reason"), "{{reason}}"),
            ),
            width=8,
        ),
    ),
)
