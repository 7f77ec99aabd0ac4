"""Where the breaker's rules begin and end: the window, the fairness of a timeout, the length of an open period."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotel.config import BreakerPolicy
from memotel.outcomes import CircuitState
from memotel.policy.breaker import Admission, CircuitBreaker, Verdict

POLICY = BreakerPolicy()
BUDGET_S = 1.2
THREADS = 8


def make(draw: float = 0.5) -> CircuitBreaker:
    """Return a closed circuit whose jitter is drawn as given: 0.5 is none."""
    return CircuitBreaker(POLICY, lambda: draw)


def fail(circuit: CircuitBreaker, now: float, verdict: Verdict = Verdict.FAILURE) -> None:
    circuit.record(circuit.admit(now), verdict, now, budget_s=BUDGET_S)


def trip(circuit: CircuitBreaker, now: float = 0.0) -> None:
    for _ in range(POLICY.consecutive_timeouts):
        fail(circuit, now, Verdict.TIMEOUT)


@pytest.mark.parametrize(("last_at", "is_open"), [(9.9, True), (10.0, False)])
def test_breaker_counts_what_happened_within_ten_seconds(last_at: float, is_open: bool) -> None:
    circuit = make()
    for _ in range(9):
        fail(circuit, 0.0)

    fail(circuit, last_at)

    assert (circuit.state is CircuitState.OPEN) is is_open


@pytest.mark.parametrize(
    ("budget_s", "p50_s", "is_open"),
    [
        (0.5, None, True),
        (0.49, None, False),
        (0.49, 0.1225, True),
        (0.49, 0.1226, False),
        (0.5, 10.0, True),
    ],
)
def test_breaker_believes_a_timeout_of_half_a_second_or_four_medians(
    budget_s: float, p50_s: float | None, is_open: bool
) -> None:
    circuit = make()
    if p50_s is not None:
        circuit.record(circuit.admit(0.0), Verdict.SUCCESS, 0.0, budget_s=9.0, duration_s=p50_s)

    for _ in range(POLICY.consecutive_timeouts):
        circuit.record(circuit.admit(0.0), Verdict.TIMEOUT, 0.0, budget_s=budget_s)

    assert (circuit.state is CircuitState.OPEN) is is_open


@given(st.floats(0, 1, exclude_max=True))
def test_open_period_is_five_seconds_give_or_take_a_tenth(draw: float) -> None:
    circuit = make(draw)
    trip(circuit)

    assert circuit.wait_s(0.0) == pytest.approx(4.5 + draw)
    assert circuit.admit(4.5 + draw - 0.001).admission is Admission.REFUSED
    assert circuit.admit(4.5 + draw + 0.001).admission is Admission.PROBE


@given(st.floats(0, 1, exclude_max=True))
def test_longest_open_period_is_ten_seconds_give_or_take_a_tenth(draw: float) -> None:
    circuit = make(draw)
    trip(circuit)
    now = 0.0
    for _ in range(5):
        now += circuit.wait_s(now) + 0.001
        fail(circuit, now)

    assert circuit.wait_s(now) == pytest.approx(9.0 + 2 * draw)


def test_open_period_is_short_again_after_the_service_was_well() -> None:
    circuit = make()
    trip(circuit)
    fail(circuit, 5.1)
    circuit.record(circuit.admit(15.2), Verdict.SUCCESS, 15.2)

    trip(circuit, 20.0)

    assert circuit.wait_s(20.0) == pytest.approx(5.0)


def test_writes_hold_back_while_the_probe_is_out() -> None:
    circuit = make()
    trip(circuit)
    probe = circuit.admit(5.1)
    assert probe.admission is Admission.PROBE

    held_s = circuit.wait_s(5.2)
    circuit.record(probe, Verdict.SUCCESS, 5.3)

    assert 0 < held_s <= 0.25
    assert circuit.wait_s(5.3) == 0.0


def test_late_answer_from_before_the_trip_neither_ends_a_probe_nor_opens_a_mended_circuit() -> None:
    circuit = make()
    late = [circuit.admit(0.0) for _ in range(2 * POLICY.min_calls)]
    trip(circuit)
    probe = circuit.admit(5.1)

    circuit.record(late.pop(), Verdict.SUCCESS, 5.2)
    assert circuit.admit(5.25).admission is Admission.REFUSED
    circuit.record(probe, Verdict.SUCCESS, 5.3)
    for ticket in late:
        circuit.record(ticket, Verdict.FAILURE, 5.4)

    assert circuit.state is CircuitState.CLOSED


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_outcome_of_a_probe_lets_another_call_through_in_time(verdict: Verdict) -> None:
    circuit = make()
    trip(circuit)

    circuit.record(circuit.admit(5.1), verdict, 5.2, budget_s=BUDGET_S)

    assert circuit.admit(5.2 + POLICY.max_open_s).admission is not Admission.REFUSED


def test_one_of_many_threads_is_the_probe() -> None:
    for _ in range(50):
        circuit = make()
        trip(circuit)
        start = threading.Barrier(THREADS)
        admissions: list[Admission] = []

        def arrive(
            circuit: CircuitBreaker = circuit,
            start: threading.Barrier = start,
            admissions: list[Admission] = admissions,
        ) -> None:
            start.wait()
            admissions.append(circuit.admit(5.1).admission)

        threads = [threading.Thread(target=arrive) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert admissions.count(Admission.PROBE) == 1
        assert admissions.count(Admission.REFUSED) == THREADS - 1
