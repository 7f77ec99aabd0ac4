"""What each answer and error means for its write, and how long a write waits."""

from hypothesis import given
from hypothesis import strategies as st

from memotel import errors
from memotel.errors import MemotelError, ServiceError
from memotel.outcomes import QuotaEvidence, RetryCause, WriteOutcome
from memotel.policy.backoff import backoff_s, ceiling_s
from memotel.values import WriteAnswer
from memotel.writes.verdicts import Fate, Verdict, judge_answer, judge_error
from memotel.writes.window import Window

FATES = {
    errors.QuotaExceededError: Fate.PARKED,
    errors.AuthenticationError: Fate.CREDENTIALS,
    errors.InvalidRequestError: Fate.ENDED,
    errors.CircuitOpenError: Fate.HELD,
}
"""Every other error is sent again."""


def every_error() -> list[type[MemotelError]]:
    found, todo = [], [MemotelError]
    while todo:
        kind = todo.pop()
        found.append(kind)
        todo.extend(kind.__subclasses__())
    return found


def an_error(kind: type[MemotelError], status: int = 500) -> MemotelError:
    if issubclass(kind, ServiceError):
        return kind("no", status_code=status, retry_after_s=7)
    return kind("no")


@given(st.sampled_from(every_error()))
def test_every_error_has_the_fate_that_the_table_says(kind: type[MemotelError]) -> None:
    verdict = judge_error(an_error(kind))
    assert verdict.fate is FATES.get(kind, Fate.RETRY)
    assert (verdict.cause is not None) == (verdict.fate is Fate.RETRY)
    assert verdict.outcome is (WriteOutcome.REJECTED if verdict.fate is Fate.ENDED else None)


@given(st.sampled_from([KeyError, ValueError, OSError, RecursionError, AssertionError]))
def test_an_error_that_is_none_of_ours_is_sent_again(kind: type[Exception]) -> None:
    assert judge_error(kind("?")) == Verdict(
        Fate.RETRY, cause=RetryCause.STATUS, is_server_fault=True
    )


@given(st.sampled_from(WriteOutcome), st.none() | st.sampled_from(QuotaEvidence))
def test_every_answer_ends_its_write_but_over_quota(
    outcome: WriteOutcome, evidence: QuotaEvidence | None
) -> None:
    verdict = judge_answer(WriteAnswer(outcome, evidence))
    if outcome is WriteOutcome.QUOTA:
        assert verdict == Verdict(Fate.PARKED)
    else:
        assert (verdict.fate, verdict.outcome) == (Fate.ENDED, outcome)
        proves = outcome is WriteOutcome.STORED or evidence is QuotaEvidence.HEALTHY
        assert verdict.is_healthy == proves


@given(st.integers(500, 599))
def test_a_5xx_is_a_servers_fault_and_a_408_is_not(status: int) -> None:
    assert judge_error(an_error(errors.ServiceUnavailableError, status)).is_server_fault
    assert not judge_error(an_error(errors.ServiceUnavailableError, 408)).is_server_fault
    assert not judge_error(errors.BudgetExceededError("late")).is_server_fault
    assert not judge_error(errors.TransportError("reset")).is_server_fault


def test_only_a_429_throttles_and_each_error_says_its_cause() -> None:
    throttled = judge_error(an_error(errors.RateLimitedError, 429))
    assert (throttled.is_throttled, throttled.cause) == (True, RetryCause.RATE_LIMIT)
    assert throttled.retry_after_s == 7
    down = judge_error(an_error(errors.ServiceUnavailableError, 503))
    assert (down.is_throttled, down.cause, down.retry_after_s) == (False, RetryCause.STATUS, 7)
    assert judge_error(errors.BudgetExceededError("late")).cause is RetryCause.TIMEOUT
    assert judge_error(errors.TransportError("reset")).cause is RetryCause.CONNECTION


SECONDS = st.floats(0.001, 1e5)


@given(attempt=st.integers(1, 10**9), initial=SECONDS, most=SECONDS, luck=st.floats(0, 1))
def test_a_wait_is_never_negative_and_never_above_its_ceiling(
    attempt: int, initial: float, most: float, luck: float
) -> None:
    wait = backoff_s(attempt, initial, most, lambda: luck)
    assert 0 <= wait <= ceiling_s(attempt, initial, most) <= most


@given(attempt=st.integers(1, 1_000), initial=SECONDS, most=SECONDS)
def test_the_ceiling_doubles_until_it_is_reached(attempt: int, initial: float, most: float) -> None:
    now, then = ceiling_s(attempt, initial, most), ceiling_s(attempt + 1, initial, most)
    assert then == min(most, now * 2)
    assert ceiling_s(1, initial, most) == min(initial, most)


def test_full_jitter_reaches_from_nothing_to_the_ceiling() -> None:
    assert backoff_s(3, 0.25, 300, lambda: 0.0) == 0.0
    assert backoff_s(3, 0.25, 300, lambda: 1.0) == 1.0


@given(st.lists(st.booleans(), max_size=200), st.integers(1, 8))
def test_the_window_stays_between_one_and_its_most(events: list[bool], initial: int) -> None:
    window = Window(initial, 8)
    for now, is_answer in enumerate(events):
        before = window.limit
        if is_answer:
            window.answered()
            assert before <= window.limit <= before + 1
        else:
            window.throttled(now, now)
            assert window.limit == max(1, before // 2)
        assert 1 <= window.limit <= 8


def test_one_burst_of_429_lowers_the_window_once() -> None:
    window = Window(8, 8)
    for _ in range(8):
        window.throttled(sent_at=1.0, now=2.0)
    assert window.limit == 4
