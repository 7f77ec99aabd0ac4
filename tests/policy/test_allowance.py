"""How much of a rate limit writes may use."""

from hypothesis import given
from hypothesis import strategies as st

from memotel.policy.allowance import LOOK_AGAIN_S, Allowance


def test_allowance_that_nothing_is_known_of_holds_nothing_back() -> None:
    allowance = Allowance()

    assert allowance.remaining(0.0) is None
    assert allowance.write_wait_s(0.0) == 0.0


def test_writes_stop_at_half_of_the_allowance_until_it_resets() -> None:
    allowance = Allowance()
    allowance.observe(30, 16, 60.0)
    assert allowance.write_wait_s(10.0) == 0.0

    allowance.observe(30, 15, 60.0)

    assert allowance.write_wait_s(10.0) == 50.0
    assert allowance.write_wait_s(60.0) == 0.0


def test_requests_on_their_way_count_as_used() -> None:
    allowance = Allowance()
    allowance.observe(30, 17, 60.0)
    allowance.in_flight = 2

    assert allowance.remaining(0.0) == 15.0
    assert allowance.write_wait_s(10.0) == 50.0


def test_writes_that_have_not_come_to_send_yet_count_as_used() -> None:
    allowance = Allowance()
    allowance.observe(30, 18, 60.0)
    allowance.in_flight = allowance.writes_in_flight = 1

    assert allowance.write_wait_s(10.0, 2) == 0.0
    assert allowance.write_wait_s(10.0, 3) == 50.0


def test_one_write_goes_ahead_when_the_allowance_should_be_whole_again() -> None:
    allowance = Allowance()
    allowance.observe(30, 15, 60.0)

    assert allowance.write_wait_s(60.0) == 0.0
    assert allowance.write_wait_s(60.0, 1) == LOOK_AGAIN_S

    allowance.observe(30, 29, 120.0)

    assert allowance.write_wait_s(60.1, 1) == 0.0


@given(st.integers(2, 200), st.integers(1, 8))
def test_writes_never_touch_the_half_that_recalls_need(limit: int, at_once: int) -> None:
    allowance, used = Allowance(), 0
    allowance.observe(limit, limit, 60.0)
    while allowance.write_wait_s(1.0) == 0.0:
        batch = 0
        while batch < at_once and allowance.write_wait_s(1.0, batch) == 0.0:
            batch += 1
        used += batch
        allowance.observe(limit, limit - used, 60.0)

    assert limit - used >= limit // 2
