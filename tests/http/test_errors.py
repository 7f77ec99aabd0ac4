import inspect
from types import ModuleType

import httpcore
import httpx
import pytest
from http_calls import Where, needed

from memotel.deadline import Deadline
from memotel.errors import (
    BudgetExceededError,
    ConfigurationError,
    MemotelError,
    ResponseFormatError,
    TransportError,
)
from memotel.http.errors import TABLE, memotel_error, rule_for
from memotel.http.exchange import Exchange
from memotel.outcomes import Phase


def exchange(budget_s: float = 60.0, room_bytes: int = 100) -> Exchange:
    return Exchange(Deadline.after(budget_s), Where(Phase.READ), room_bytes)


def exceptions_of(module: ModuleType) -> list[type[Exception]]:
    return [
        item
        for _, item in inspect.getmembers(module, inspect.isclass)
        if issubclass(item, Exception)
    ]


@pytest.mark.parametrize("module", [httpx, httpcore], ids=lambda module: module.__name__)
def test_every_exception_of_the_http_libraries_is_in_the_table(module: ModuleType) -> None:
    found = exceptions_of(module)
    assert len(found) > 10
    assert [cls.__name__ for cls in found if cls.__name__ not in TABLE] == []


@pytest.mark.parametrize("library", ["httpx2", "httpcore2"])
def test_every_exception_of_the_forks_has_a_rule(library: str) -> None:
    found = exceptions_of(needed(library))
    assert len(found) > 10
    assert [cls.__name__ for cls in found if rule_for(cls.__new__(cls)) is None] == []


def test_every_client_exception_of_aiohttp_has_a_rule() -> None:
    client_error = needed("aiohttp").ClientError
    found = [cls for cls in exceptions_of(needed("aiohttp")) if issubclass(cls, client_error)]
    assert len(found) > 10
    assert [cls.__name__ for cls in found if rule_for(cls.__new__(cls)) is None] == []


def test_the_table_names_no_exception_that_does_not_exist() -> None:
    modules = (httpx, httpcore, needed("aiohttp"))
    assert set(TABLE) <= {cls.__name__ for module in modules for cls in exceptions_of(module)}


@pytest.mark.parametrize("cls", exceptions_of(httpcore), ids=lambda cls: cls.__name__)
def test_every_httpcore_exception_becomes_one_of_ours(cls: type[Exception]) -> None:
    assert isinstance(memotel_error(cls("x"), exchange(), "here:1"), MemotelError)


def test_a_subclass_follows_its_nearest_known_class() -> None:
    class Own(httpx.ReadTimeout):
        pass

    assert rule_for(Own("x")) == TABLE["ReadTimeout"]


@pytest.mark.parametrize("error", [ValueError("x"), RuntimeError("x"), OSError(5, "x")])
def test_other_errors_are_not_for_this_table(error: Exception) -> None:
    assert memotel_error(error, exchange(), "here:1") is None


def test_a_class_of_the_same_name_from_elsewhere_is_not_for_this_table() -> None:
    class ReadTimeout(Exception):  # noqa: N818 # the name is the point
        pass

    assert rule_for(ReadTimeout("x")) is None


def test_a_timeout_is_the_budget_only_when_the_deadline_is_there() -> None:
    due = memotel_error(httpx.ReadTimeout("x"), exchange(budget_s=0.0), "here:1")
    early = memotel_error(httpx.ConnectTimeout("x"), exchange(), "here:1")
    assert isinstance(due, BudgetExceededError)
    assert due.phase is Phase.READ
    assert isinstance(early, TransportError)
    assert early.error_type == "timeout"


def test_what_was_sent_is_read_off_the_exchange_and_never_off_the_class() -> None:
    """httpx-aiohttp reports a connection lost after sending as a `ConnectTimeout`."""
    sent = exchange()
    sent.is_sent = True
    error = memotel_error(httpx.ConnectTimeout("Server disconnected"), sent, "here:1")
    assert isinstance(error, TransportError)
    assert not error.is_unsent
    fresh = memotel_error(httpx.ReadError("x"), exchange(), "here:1")
    assert isinstance(fresh, TransportError)
    assert fresh.is_unsent


def test_a_flooded_exchange_is_a_format_error_whatever_was_raised() -> None:
    flooded = exchange(room_bytes=10)
    flooded.receive(11)
    assert isinstance(
        memotel_error(httpcore.ReadError("x"), flooded, "here:1"), ResponseFormatError
    )


@pytest.mark.parametrize(
    "cls", [httpcore.RemoteProtocolError, httpcore.LocalProtocolError, httpx.DecodingError]
)
def test_messages_that_may_quote_headers_or_answers_are_not_passed_on(
    cls: type[Exception],
) -> None:
    error = memotel_error(cls("rk_secret and words"), exchange(), "here:1")
    assert "rk_secret" not in str(error)


def test_a_request_that_cannot_be_written_is_a_matter_of_configuration() -> None:
    error = memotel_error(httpcore.LocalProtocolError("x"), exchange(), "here:1")
    assert isinstance(error, ConfigurationError)
