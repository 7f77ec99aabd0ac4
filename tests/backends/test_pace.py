"""What the rate limit headers tell."""

import pytest
from answers import answer

from memotel.backends.pace import Pace, read_pace


def test_pace_reads_all_four_headers() -> None:
    response = answer(
        x_ratelimit_limit="1000",
        x_ratelimit_remaining="999",
        x_ratelimit_reset="1793620800",
        x_ratelimit_policy="1000;w=60",
    )
    assert read_pace(response) == Pace(1000, 999, 1_793_620_800, 60)


def test_pace_takes_the_limit_from_the_policy_where_it_stands_alone() -> None:
    assert read_pace(answer(x_ratelimit_policy="50; w=60")) == Pace(limit=50, window_s=60)


def test_pace_reads_the_first_policy_of_several() -> None:
    pace = read_pace(answer(x_ratelimit_policy='2;w=1, 30;w=60;comment="x"'))
    assert pace == Pace(limit=2, window_s=1)


def test_pace_reads_a_fraction_as_the_whole_below() -> None:
    assert read_pace(answer(x_ratelimit_reset="1793620800.75")) == Pace(reset_at_s=1_793_620_800)


def test_pace_of_an_answer_without_headers_is_none() -> None:
    assert read_pace(answer()) is None


@pytest.mark.parametrize("odd", ["", "-1", "many", "nan", "1e9", "9" * 40, "٣", "1,2"])
def test_pace_passes_over_what_is_no_number(odd: str) -> None:
    assert read_pace(answer(x_ratelimit_limit=odd, x_ratelimit_policy=odd)) is None


def test_pace_tells_the_end_of_the_window_by_this_machines_clock() -> None:
    pace = read_pace(answer(x_ratelimit_reset="1793620860", date="Mon, 02 Nov 2026 13:20:00 GMT"))
    assert pace is not None
    served_at = 1_793_625_600
    assert pace.date_s == served_at
    assert pace.resets_at(1_000.0) == 1_000.0 + 1_793_620_860 - served_at


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 99 Nov 2026 13:20:00 GMT"])
def test_pace_trusts_its_own_clock_where_the_answer_has_no_date(date: str) -> None:
    pace = read_pace(answer(x_ratelimit_reset="1793620860", date=date))
    assert pace is not None
    assert pace.resets_at(5.0) == 1_793_620_860
