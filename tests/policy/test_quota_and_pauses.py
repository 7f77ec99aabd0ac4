"""Quota evidence, rejected credentials and rate pauses, with time as an argument."""

from hypothesis import given
from hypothesis import strategies as st

from memotel.outcomes import QuotaEvidence, QuotaState
from memotel.policy.pauses import CredentialLatch, RatePause
from memotel.policy.quota import DEFAULT_LIMITED_S, QuotaMachine


def test_quota_is_ok_until_there_is_evidence() -> None:
    assert QuotaMachine().state(0.0) is QuotaState.OK


def test_quota_is_silent_from_the_first_evidence_to_the_first_health() -> None:
    machine = QuotaMachine()

    machine.observe(QuotaEvidence.SILENT, 0.0)
    assert machine.state(1e9) is QuotaState.SILENT
    machine.observe(QuotaEvidence.HEALTHY, 1e9)

    assert machine.state(1e9) is QuotaState.OK


def test_quota_limit_ends_when_the_service_said() -> None:
    machine = QuotaMachine()

    machine.observe(QuotaEvidence.STRICT, 10.0, 30.0)
    assert machine.state(39.9) is QuotaState.LIMITED
    assert machine.state(40.0) is QuotaState.OK


def test_quota_limit_without_a_time_ends_by_itself() -> None:
    machine = QuotaMachine()

    machine.observe(QuotaEvidence.STRICT, 0.0)

    assert machine.state(DEFAULT_LIMITED_S - 1) is QuotaState.LIMITED
    assert machine.state(DEFAULT_LIMITED_S) is QuotaState.OK


@given(st.lists(st.sampled_from(sorted(QuotaEvidence)), min_size=1))
def test_quota_state_follows_the_last_evidence(evidence: list[QuotaEvidence]) -> None:
    machine = QuotaMachine()
    for piece in evidence:
        machine.observe(piece, 0.0)

    expected = {
        QuotaEvidence.HEALTHY: QuotaState.OK,
        QuotaEvidence.SILENT: QuotaState.SILENT,
        QuotaEvidence.STRICT: QuotaState.LIMITED,
    }
    assert machine.state(0.0) is expected[evidence[-1]]


def test_quota_limit_on_writes_is_ended_by_a_write_not_by_a_recall() -> None:
    machine = QuotaMachine()
    machine.observe(QuotaEvidence.STRICT, 0.0, 30.0, is_write=True)

    machine.observe(QuotaEvidence.HEALTHY, 1.0)
    assert machine.state(1.0) is QuotaState.LIMITED
    machine.observe(QuotaEvidence.HEALTHY, 2.0, is_write=True)

    assert machine.state(2.0) is QuotaState.OK


def test_quota_limit_on_recalls_is_ended_by_a_recall() -> None:
    machine = QuotaMachine()
    machine.observe(QuotaEvidence.STRICT, 0.0, 30.0)

    machine.observe(QuotaEvidence.HEALTHY, 1.0)

    assert machine.state(1.0) is QuotaState.OK


def test_latch_lets_one_call_a_minute_through() -> None:
    latch = CredentialLatch(60.0)
    assert latch.lets_through(0.0)
    assert latch.reject(0.0)

    passed = [t for t in range(0, 181, 5) if latch.lets_through(float(t))]

    assert passed == [60, 120, 180]


def test_latch_tells_news_from_repetition() -> None:
    latch = CredentialLatch(60.0)

    assert latch.reject(0.0)
    assert not latch.reject(1.0)
    assert latch.accept()
    assert not latch.accept()
    assert latch.lets_through(2.0)


def test_rate_pause_lasts_as_long_as_the_service_asks_within_its_bound() -> None:
    pause = RatePause(default_s=1.0, max_s=100.0)
    assert pause.wait_s(0.0) == 0.0

    pause.limit(0.0, 30.0)
    assert pause.wait_s(10.0) == 20.0
    pause.limit(0.0, 5.0)
    assert pause.wait_s(10.0) == 20.0
    pause.limit(0.0, 1e9)

    assert pause.wait_s(0.0) == 100.0
    assert pause.wait_s(200.0) == 0.0
