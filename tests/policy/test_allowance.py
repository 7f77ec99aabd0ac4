"""How much of a rate limit writes may use."""

from hypothesis import given
from hypothesis import strategies as st

from memotel.policy.allowance import Allowance


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


@given(st.integers(2, 200), st.integers(1, 8))
def test_writes_never_touch_the_half_that_recalls_need(limit: int, at_once: int) -> None:
    allowance, used = Allowance(), 0
    allowance.observe(limit, limit, 60.0)
    while allowance.write_wait_s(1.0) == 0.0:
        batch = 0
        while batch < at_once and allowance.write_wait_s(1.0) == 0.0:
            allowance.in_flight += 1
            batch += 1
        used += batch
        allowance.in_flight = 0
        allowance.observe(limit, limit - used, 60.0)

    assert limit - used >= limit // 2
