"""Error answers: which error, what it says, how long to wait."""

import pytest
from answers import answer

from memotel.backends.complaints import names_a_quota, read_complaint
from memotel.backends.errors import error_of, kind_of
from memotel.backends.retry_after import MAX_WAIT_S, retry_after_s
from memotel.errors import (
    AuthenticationError,
    InvalidRequestError,
    QuotaExceededError,
    RateLimitedError,
    ServiceError,
    ServiceUnavailableError,
)
from memotel.http.messages import HttpResponse
from memotel.outcomes import Provider
from memotel.values import Json

NOW = 1_793_620_800.0  # Mon, 02 Nov 2026 12:00:00 GMT
LATER = "Mon, 02 Nov 2026 12:01:30 GMT"


def clock() -> float:
    return NOW


def wait_of(response: HttpResponse, in_body: Json = None) -> float | None:
    return retry_after_s(response, in_body, clock)


def error(body: object, status: int, **headers: str) -> ServiceError:
    return error_of(answer(body, status, **headers), Provider.REKALL, clock)


@pytest.mark.parametrize(
    ("statuses", "kind"),
    [
        ((401, 403), AuthenticationError),
        ((402,), QuotaExceededError),
        ((429,), RateLimitedError),
        ((400, 404, 405, 409, 410, 413, 415, 422, 451), InvalidRequestError),
        ((407, 408, 421, 425, 500, 502, 503, 504, 599), ServiceUnavailableError),
        ((100, 101, 300, 301, 302, 304, 307, 308), ServiceUnavailableError),
    ],
)
def test_status_alone_decides_the_kind(statuses: tuple[int, ...], kind: type[ServiceError]) -> None:
    assert {kind_of(status, None) for status in statuses} == {kind}


@pytest.mark.parametrize("status", [400, 402, 403, 404, 409, 429])
def test_quota_code_turns_a_refusal_into_a_quota(status: int) -> None:
    assert kind_of(status, "MONTHLY_QUOTA_EXCEEDED") is QuotaExceededError


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, AuthenticationError), (500, ServiceUnavailableError), (503, ServiceUnavailableError)],
)
def test_quota_code_does_not_change(status: int, kind: type[ServiceError]) -> None:
    assert kind_of(status, "quota_exceeded") is kind


@pytest.mark.parametrize(
    "code",
    [
        "limit_exceeded",
        "quota",
        "QUOTA_EXCEEDED",
        "insufficient_quota",
        "MonthlyLimitExceeded",
        "monthly_limit_exceeded",
        "PLAN_LIMIT_REACHED",
        "memory-limit",
    ],
)
def test_code_that_names_a_quota(code: str) -> None:
    assert names_a_quota(code)


@pytest.mark.parametrize(
    "code",
    [
        None,
        "",
        "RATE_LIMIT_EXCEEDED",
        "rate_limit_exceeded",
        "monthly_rate_limit",
        "SCOPE_INSUFFICIENT",
        "INVALID_MEMORY_TYPE",
        "size_limit",
        "concurrency_limit",
    ],
)
def test_code_that_names_no_quota(code: str | None) -> None:
    assert not names_a_quota(code)


def test_message_says_status_code_request_and_what_to_do() -> None:
    body = {"error": {"code": "SCOPE_INSUFFICIENT", "message": "private", "request_id": "req_1"}}
    assert str(error(body, 403)) == (
        "Rekall answered 403 (SCOPE_INSUFFICIENT), request req_1: "
        "the key may not do this; check its scopes and the project"
    )


def test_message_of_an_unknown_body_still_says_what_to_do() -> None:
    assert str(error(b"<html>", 500)) == "Rekall answered 500: the service failed; try again later"


def test_message_of_a_redirect_says_that_it_is_not_followed() -> None:
    assert "redirects are not followed" in str(error(b"", 302, location="https://elsewhere"))


def test_message_of_a_quota_says_plan_whatever_the_status() -> None:
    body = {"error": {"code": "memory_quota"}}
    assert "the plan is used up" in str(error(body, 403))


def test_request_id_of_the_header_has_precedence() -> None:
    body = {"error": {"request_id": "in-body"}}
    assert error(body, 500, x_request_id="in-header").request_id == "in-header"
    assert error(body, 500).request_id == "in-body"
    assert error({"request_id": "outer"}, 500).request_id == "outer"


@pytest.mark.parametrize("odd", ["", "two words", "line\nbreak", "ü", "x" * 129, "\ud800"])
def test_request_id_that_is_none_is_not_kept(odd: str) -> None:
    assert error({"error": {"request_id": odd}}, 500, x_request_id=odd).request_id is None


@pytest.mark.parametrize("odd", ["", "two words", "a\n", "ü", "x" * 65, 5, None, ["a"], {}])
def test_code_that_is_no_short_word_is_not_kept(odd: object) -> None:
    assert error({"error": {"code": odd}}, 500).code is None


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"error": {"code": "A_B"}}, "A_B"),
        ({"error": "invalid_token"}, "invalid_token"),
        ({"detail": {"error": "limit_exceeded"}}, "limit_exceeded"),
        ({"detail": "MISSING_END_USER_ID: set it"}, "MISSING_END_USER_ID"),
        ({"detail": "SECRET"}, None),
        ({"detail": "said: HELLO_WORLD"}, None),
        ({"detail": [{"msg": "field required"}]}, None),
        ([], None),
    ],
)
def test_complaint_reads_the_code_of_each_shape(body: object, code: str | None) -> None:
    assert read_complaint(answer(body).body).code == code


@pytest.mark.parametrize(
    ("body", "wait"),
    [
        ({"error": {"retry_after": 3}}, 3),
        ({"error": {"details": {"retry_after": 4}}}, 4),
        ({"detail": {"retry_after": 5}}, 5),
        ({"detail": "slow", "retry_after": 6}, 6),
        ({"error": {}, "retry_after": 7}, 7),
        ({"error": {}}, None),
    ],
)
def test_complaint_reads_the_wait_of_each_shape(body: object, wait: int | None) -> None:
    assert read_complaint(answer(body).body).retry_after == wait


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [("0", 0.0), ("7", 7.0), ("1.5", 1.5), (" 2 ", 2.0), ("-3", 0.0), ("1e9", MAX_WAIT_S)],
)
def test_wait_in_seconds(header: str, wait_s: float) -> None:
    assert wait_of(answer(retry_after=header)) == wait_s


def test_wait_until_a_date_is_read_against_the_answers_own_date() -> None:
    response = answer(retry_after=LATER, date="Mon, 02 Nov 2026 12:01:00 GMT")
    assert wait_of(response) == 30.0


def test_wait_until_a_date_is_read_against_the_clock_without_a_date() -> None:
    assert wait_of(answer(retry_after=LATER)) == 90.0
    assert wait_of(answer(retry_after=LATER, date="yesterday")) == 90.0


def test_wait_until_a_date_in_the_past_is_over() -> None:
    assert wait_of(answer(retry_after="Sun, 06 Nov 1994 08:49:37 GMT")) == 0.0


def test_wait_until_a_date_without_a_zone_is_in_utc() -> None:
    response = answer(retry_after="Mon, 02 Nov 2026 12:01:30 -0000", date=LATER)
    assert wait_of(response) == 0.0


@pytest.mark.parametrize(
    "odd",
    [
        "Mon, 02 Nov 2026",
        "Mon, 99 Nov 2026 12:00:00 GMT",
        "Mon, 02 Nov 99999999999999999999 12:00:00 GMT",
        "Mon, 02 Nov 2026 12:00:00 +99999999999999",
        ", , ,",
        "\ud800",
    ],
)
def test_date_that_is_none_is_passed_over(odd: str) -> None:
    assert wait_of(answer(retry_after=odd), 4) == 4.0


def test_wait_in_the_header_has_precedence_over_the_body() -> None:
    assert wait_of(answer(retry_after="7"), 9) == 7.0
    assert wait_of(answer(retry_after="soon"), 9) == 9.0
    assert wait_of(answer(), "2.5") == 2.5


@pytest.mark.parametrize("odd", [None, True, "soon", "nan", "", [1], {"s": 1}])
def test_wait_that_is_no_number_is_unknown(odd: Json) -> None:
    assert wait_of(answer(), odd) is None
