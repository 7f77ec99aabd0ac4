"""The circuit breaker's rules, with time as an argument."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotel.config import BreakerPolicy
from memotel.outcomes import CircuitState
from memotel.policy.breaker import Admission, CircuitBreaker, Ticket, Verdict

POLICY = BreakerPolicy()


def half() -> float:
    return 0.5  # no jitter: 1 + share * (2 * 0.5 - 1) = 1


def make(policy: BreakerPolicy = POLICY) -> CircuitBreaker:
    return CircuitBreaker(policy, half)


def trip(circuit: CircuitBreaker, now: float = 0.0) -> None:
    for _ in range(3):
        circuit.record(circuit.admit(now), Verdict.TIMEOUT, now, budget_s=1.2)


def test_breaker_opens_after_three_timeouts_in_a_row() -> None:
    circuit = make()

    for _ in range(2):
        circuit.record(circuit.admit(0.0), Verdict.TIMEOUT, 0.0, budget_s=1.2)
    assert circuit.state is CircuitState.CLOSED
    circuit.record(circuit.admit(0.0), Verdict.TIMEOUT, 0.0, budget_s=1.2)

    assert circuit.state is CircuitState.OPEN
    assert circuit.admit(4.9).admission is Admission.REFUSED


def test_breaker_stays_closed_when_a_success_comes_between_timeouts() -> None:
    circuit = make()

    for _ in range(4):
        for verdict in (
            Verdict.TIMEOUT,
            Verdict.TIMEOUT,
            Verdict.SUCCESS,
            Verdict.SUCCESS,
            Verdict.SUCCESS,
            Verdict.SUCCESS,
        ):
            circuit.record(circuit.admit(0.0), verdict, 0.0, budget_s=1.2)

    assert circuit.state is CircuitState.CLOSED


@pytest.mark.parametrize(("failures", "is_open"), [(4, False), (5, True)])
def test_breaker_opens_at_half_of_ten_calls(failures: int, is_open: bool) -> None:
    circuit = make()

    for i in range(10):
        verdict = Verdict.FAILURE if i >= 10 - failures else Verdict.SUCCESS
        circuit.record(circuit.admit(1.0), verdict, 1.0, budget_s=1.2)

    assert (circuit.state is CircuitState.OPEN) is is_open


def test_breaker_forgets_failures_older_than_its_window() -> None:
    circuit = make()

    for i in range(9):
        circuit.record(circuit.admit(float(i)), Verdict.FAILURE, 0.0, budget_s=1.2)
    circuit.record(circuit.admit(20.0), Verdict.FAILURE, 20.0, budget_s=1.2)

    assert circuit.state is CircuitState.CLOSED


def test_breaker_does_not_blame_the_service_for_a_short_budget() -> None:
    circuit = make()

    for _ in range(20):
        circuit.record(circuit.admit(0.0), Verdict.TIMEOUT, 0.0, budget_s=0.05)
    assert circuit.state is CircuitState.CLOSED

    circuit.record(circuit.admit(0.0), Verdict.SUCCESS, 0.0, budget_s=0.05, duration_s=0.01)
    for _ in range(3):
        circuit.record(circuit.admit(0.0), Verdict.TIMEOUT, 0.0, budget_s=0.05)
    assert circuit.state is CircuitState.OPEN


@pytest.mark.parametrize("verdict", [Verdict.NEUTRAL, Verdict.ANSWERED])
def test_breaker_counts_neither_way_what_says_nothing(verdict: Verdict) -> None:
    circuit = make()

    for _ in range(50):
        circuit.record(circuit.admit(0.0), verdict, 0.0, budget_s=1.2)

    assert circuit.state is CircuitState.CLOSED


def test_breaker_admits_exactly_one_probe() -> None:
    circuit = make()
    trip(circuit)

    admissions = [circuit.admit(5.1).admission for _ in range(20)]

    assert admissions.count(Admission.PROBE) == 1
    assert admissions.count(Admission.REFUSED) == 19
    assert circuit.state is CircuitState.HALF_OPEN


@pytest.mark.parametrize("verdict", [Verdict.SUCCESS, Verdict.ANSWERED])
def test_breaker_closes_when_the_probe_is_answered(verdict: Verdict) -> None:
    circuit = make()
    trip(circuit)

    circuit.record(circuit.admit(5.1), verdict, 5.2)

    assert circuit.state is CircuitState.CLOSED
    assert circuit.admit(5.3).admission is Admission.ALLOWED


def test_breaker_waits_longer_after_a_failed_probe_up_to_its_bound() -> None:
    circuit = make()
    trip(circuit)
    circuit.record(circuit.admit(5.1), Verdict.TIMEOUT, 6.0, budget_s=1.2)
    assert circuit.admit(15.9).admission is Admission.REFUSED

    circuit.record(circuit.admit(16.1), Verdict.FAILURE, 17.0)
    assert circuit.admit(26.9).admission is Admission.REFUSED
    assert circuit.admit(27.1).admission is Admission.PROBE


def test_breaker_gives_a_neutral_probe_back_at_once() -> None:
    circuit = make()
    trip(circuit)

    circuit.record(circuit.admit(5.1), Verdict.NEUTRAL, 5.2)

    assert circuit.state is CircuitState.OPEN
    assert circuit.admit(5.2).admission is Admission.PROBE


def test_breaker_ignores_answers_from_before_the_trip() -> None:
    circuit = make()
    late = circuit.admit(0.0)
    trip(circuit)

    circuit.record(late, Verdict.SUCCESS, 1.0, budget_s=1.2)

    assert circuit.state is CircuitState.OPEN


def test_breaker_holds_writes_back_while_open_only() -> None:
    circuit = make()
    assert circuit.wait_s(0.0) == 0.0
    trip(circuit)

    assert circuit.wait_s(1.0) == pytest.approx(4.0)
    assert circuit.wait_s(6.0) == 0.0


def test_breaker_reports_each_change_once() -> None:
    seen: list[CircuitState] = []
    circuit = CircuitBreaker(POLICY, half, seen.append)
    trip(circuit)
    circuit.record(circuit.admit(5.1), Verdict.SUCCESS, 5.2)

    assert seen == [CircuitState.OPEN, CircuitState.HALF_OPEN, CircuitState.CLOSED]


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(Verdict)), st.floats(0, 3), st.floats(0.01, 2.0)),
        max_size=80,
    )
)
def test_breaker_always_lets_somebody_through_after_the_longest_pause(
    events: list[tuple[Verdict, float, float]],
) -> None:
    circuit = make()
    now = 0.0
    for verdict, step, budget_s in events:
        now += step
        ticket = circuit.admit(now)
        if ticket.admission is not Admission.REFUSED:
            circuit.record(ticket, verdict, now, budget_s=budget_s, duration_s=step)

    later = now + POLICY.max_open_s * (1 + POLICY.jitter_share) + 0.001

    assert circuit.admit(later).admission in (Admission.ALLOWED, Admission.PROBE)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60))
def test_breaker_never_has_two_probes_out(choices: list[int]) -> None:
    circuit = make()
    trip(circuit)
    now, out = 5.0, list[Ticket]()
    for choice in choices:
        now += 1.5
        ticket = circuit.admit(now)
        if ticket.admission is Admission.PROBE:
            out.append(ticket)
        assert len(out) <= 1
        if out and choice == 0:
            circuit.record(out.pop(), Verdict.FAILURE, now)
