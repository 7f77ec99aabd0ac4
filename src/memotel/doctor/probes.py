"""One recall, and if it is asked for one write, the way an agent would do them; then what the account looks like."""

from collections.abc import Iterator
from dataclasses import dataclass

from memotel.attachment import attach
from memotel.client import MemoryClient
from memotel.deadline import monotonic
from memotel.doctor.cases import Case
from memotel.doctor.findings import Finding, Level, Topic
from memotel.doctor.route import ms
from memotel.errors import AuthenticationError, MemotelError
from memotel.outcomes import CircuitState, Outcome, QuotaState, WriteOutcome
from memotel.values import Json, Scope
from memotel.writes.stats import WriteStats

PROBE_USER = "memotel-doctor"
PROMPT = "Is memory working? A question of memotel doctor."
TEXT = "A write probe of memotel doctor; it can be deleted."
WARM_S = 5.0
SLOW_SHARE = 0.5
"""A recall that takes more of its budget than this leaves too little for a bad day."""

RECALL_ADVICE = {
    Outcome.TIMEOUT: "look at the route above; a larger budget is MEMOTEL_RECALL_TIMEOUT, at the reply's cost",
    Outcome.UNAVAILABLE: "the service fails or cannot be reached: look at the route above and its status page",
    Outcome.RATE_LIMITED: "fewer requests for this key, or a larger plan",
    Outcome.QUOTA: "the plan is used up: raise it or wait for its renewal",
    Outcome.REJECTED: "the key is not accepted here: check it, its rights, and the base URL it belongs to",
    Outcome.SKIPPED: "memory is switched off: unset MEMOTEL_DISABLED",
}
OTHER_ADVICE = "the log of memotel says more"
EMPTY = (
    "; an emptiness that is a used-up plan cannot be told from it without --write-probe --user NAME"
)
WRITTEN = {WriteOutcome.STORED, WriteOutcome.DUPLICATE, WriteOutcome.IGNORED}


@dataclass(frozen=True, slots=True)
class Probe:
    """A client of one service, and whose memory it may write to."""

    case: Case
    client: MemoryClient
    write_user: str | None = None

    def findings(self) -> Iterator[Finding]:
        """Recall, write where that is allowed, and look at the account afterwards."""
        self.client.warm(WARM_S)
        yield self._recall()
        if self.write_user is not None:
            yield self._write(self.write_user)
        yield self._state()
        yield outbox(self.case, self.client.stats())

    def _recall(self) -> Finding:
        began = monotonic()
        result = self.client.recall(Scope(self.write_user or PROBE_USER, PROBE_USER), PROMPT)
        spent_s = monotonic() - began
        budget_s = self.case.settings.recall.budget_s
        level, advice = _judged(result.outcome, spent_s / budget_s)
        if result.outcome is Outcome.REJECTED:
            advice = self._why_rejected()
        is_unsure = result.outcome is Outcome.EMPTY and self.write_user is None
        text = f"{result.outcome} in {ms(spent_s)} of {ms(budget_s)}" + (EMPTY if is_unsure else "")
        data: dict[str, Json] = {
            "outcome": result.outcome.value,
            "duration_s": round(spent_s, 6),
            "budget_s": budget_s,
            "memories": len(result.memories),
        }
        return Finding(Topic.RECALL, self.case.provider, level, text, advice, data)

    def _why_rejected(self) -> str:
        """Ask once more in the way that raises, since a recall says no more than that it was refused."""
        try:
            self.client.search(Scope(self.write_user or PROBE_USER, PROBE_USER), PROMPT)
        except MemotelError as error:
            return _why(error)
        return OTHER_ADVICE

    def _write(self, user: str) -> Finding:
        began = monotonic()
        try:
            outcome = self.client.save(Scope(user, PROBE_USER), TEXT, source=PROBE_USER).outcome
        except MemotelError as error:
            return self._written(error.outcome.value, str(error), _why(error))
        text = f"{outcome} in {ms(monotonic() - began)}"
        advice = "" if outcome in WRITTEN else _advice(Outcome(outcome.value))
        return self._written(outcome.value, text, advice)

    def _written(self, outcome: str, text: str, advice: str) -> Finding:
        level = Level.PROBLEM if advice else Level.OK
        return Finding(Topic.WRITE, self.case.provider, level, text, advice, {"outcome": outcome})

    def _state(self) -> Finding:
        """Say what these probes taught this process; an application's own state is in its metrics."""
        account = attach(self.client, self.case.settings).account
        circuit, quota = account.circuit.state, account.quota.state(monotonic())
        is_rejected = account.latch.is_rejected
        is_well = circuit is CircuitState.CLOSED and quota is QuotaState.OK and not is_rejected
        key = "rejected" if is_rejected else "not rejected"
        advice = RECALL_ADVICE[Outcome.QUOTA] if quota is not QuotaState.OK else OTHER_ADVICE
        return Finding(
            Topic.STATE,
            self.case.provider,
            Level.OK if is_well else Level.PROBLEM,
            f"circuit {circuit}, quota {quota}, key {key}",
            "" if is_well else RECALL_ADVICE[Outcome.REJECTED] if is_rejected else advice,
            {"circuit": circuit.value, "quota": quota.value, "is_key_rejected": is_rejected},
        )


def outbox(case: Case, stats: WriteStats) -> Finding:
    """Say how the outbox is: what waits, what was given up, and whether it survives the process."""
    policy, totals = case.settings.outbox, stats.totals
    fill = max(totals.pending / policy.max_writes, totals.size_bytes / policy.max_bytes)
    where = "in memory" if policy.url == "memory" else "kept"
    text = f"{where}: {totals.pending} waiting, {totals.parked} parked, {stats.dead_letters} dead letters"
    level, advice = Level.OK, ""
    if stats.dead_letters:
        level = Level.WARNING
        advice = "some writes were refused for good; of an outbox on disk: memotel outbox list DIRECTORY --dead"
    if fill > SLOW_SHARE:
        level, advice = Level.WARNING, "it fills up: is the service reachable from the agents?"
    if totals.unaccounted:
        level, advice = Level.PROBLEM, f"{totals.unaccounted} writes are unaccounted for: report it"
    data: dict[str, Json] = {
        "pending": totals.pending,
        "parked": totals.parked,
        "size_bytes": totals.size_bytes,
        "dead_letters": stats.dead_letters,
        "unaccounted": totals.unaccounted,
    }
    return Finding(Topic.OUTBOX, case.provider, level, text, advice, data)


def _judged(outcome: Outcome, share: float) -> tuple[Level, str]:
    if outcome is Outcome.SKIPPED:
        return Level.WARNING, RECALL_ADVICE[outcome]
    if outcome not in (Outcome.HIT, Outcome.EMPTY):
        return Level.PROBLEM, _advice(outcome)
    if share > SLOW_SHARE:
        return Level.WARNING, "slow: more than half of its budget; see MEMOTEL_RECALL_TIMEOUT"
    return Level.OK, ""


def _why(error: MemotelError) -> str:
    """Return what to do about an error: of a refusal that is not the key's, the refusal itself."""
    is_of_key = isinstance(error, AuthenticationError) or error.outcome is not Outcome.REJECTED
    return _advice(error.outcome) if is_of_key else str(error)


def _advice(outcome: Outcome) -> str:
    return RECALL_ADVICE.get(outcome, OTHER_ADVICE)
