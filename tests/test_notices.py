"""What the log says: at most one line a minute for each event of an account, and the last line is true."""

import logging
from collections.abc import Callable

import pytest
from opentelemetry.sdk.trace import TracerProvider

from memotel import runtime
from memotel.client import MemoryClient
from memotel.devserver import DevServer, Fault
from memotel.notices import MOST, Event, Notices, fault_of, notices_of
from memotel.outcomes import Adapter, Provider
from memotel.settings import resolve
from memotel.values import Scope


class Clock:
    """A clock that is moved by hand, and what is to run later on it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def __call__(self) -> float:
        return self.now

    def later(self, wait_s: float, function: Callable[[], None]) -> None:
        self.waiting.append((self.now + wait_s, function))

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due = [function for at, function in self.waiting if at <= self.now]
        self.waiting = [(at, function) for at, function in self.waiting if at > self.now]
        for function in due:
            function()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def notices(clock: Clock) -> Notices:
    return Notices("memorysync", "account-1", clock=clock, later=clock.later)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the event of each line so far."""
    return [record.__dict__["event"] for record in caplog.records]


def test_record_names_event_provider_and_account(
    notices: Notices, caplog: pytest.LogCaptureFixture
) -> None:
    notices.say(Event.OUTBOX_FULL, "the outbox is full")
    (record,) = caplog.records
    assert record.name == "memotel.outbox"
    assert record.levelno == logging.WARNING
    assert record.getMessage() == "outbox.full: memorysync: the outbox is full"
    assert {
        key: record.__dict__[key] for key in ("event", "provider", "account", "suppressed")
    } == {
        "event": "outbox.full",
        "provider": "memorysync",
        "account": "account-1",
        "suppressed": 0,
    }
    assert "trace_id" not in record.__dict__


def test_record_carries_the_current_span(
    notices: Notices, caplog: pytest.LogCaptureFixture
) -> None:
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("app")
    with tracer.start_as_current_span("turn") as span:
        notices.enter(Event.QUOTA_SILENT, "the plan is used up")
    (record,) = caplog.records
    context = span.get_span_context()
    assert record.__dict__["trace_id"] == format(context.trace_id, "032x")
    assert record.__dict__["span_id"] == format(context.span_id, "016x")


def test_event_is_said_once_a_minute_with_the_number_held_back(
    notices: Notices, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(60):
        notices.say(Event.OUTBOX_FULL, "the outbox is full")
        clock.advance(1.0)
    assert said(caplog) == ["outbox.full"]
    notices.say(Event.OUTBOX_FULL, "the outbox is full")
    assert caplog.records[-1].__dict__["suppressed"] == 59
    assert "(59 more since the last such line)" in caplog.records[-1].getMessage()


def test_events_and_accounts_do_not_silence_each_other(
    notices: Notices, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    other = Notices("memorysync", "account-2", clock=clock)
    for account in (notices, other):
        account.say(Event.OUTBOX_FULL, "the outbox is full")
        account.say(Event.WRITES_DROPPED, "writes are dropped")
    assert said(caplog) == ["outbox.full", "writes.dropped"] * 2


def test_state_that_stands_is_not_said_again(
    notices: Notices, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(10):
        notices.enter(Event.CREDENTIALS_REJECTED, "the service answered 401")
        clock.advance(61.0)
    assert said(caplog) == ["credentials.rejected"]
    assert caplog.records[0].levelno == logging.ERROR


@pytest.mark.parametrize(
    "event", [Event.CIRCUIT_CLOSED, Event.QUOTA_RETURNED, Event.CREDENTIALS_ACCEPTED]
)
def test_good_state_at_the_start_is_no_news(
    notices: Notices, event: Event, caplog: pytest.LogCaptureFixture
) -> None:
    notices.enter(event, "as ever")
    assert caplog.records == []


def test_flapping_state_is_one_line_a_minute_for_each_event_and_ends_true(
    notices: Notices, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(300):
        notices.enter(Event.QUOTA_SILENT, "the plan is used up")
        clock.advance(1.0)
        notices.enter(Event.QUOTA_RETURNED, "the plan works")
        clock.advance(1.0)
    times = said(caplog)
    for event in ("quota.silent", "quota.returned"):
        assert 5 <= times.count(event) <= 11
    clock.advance(120.0)
    assert said(caplog)[-1] == "quota.returned"
    assert clock.waiting == []


def test_change_that_was_held_back_and_stands_is_said_after_the_minute(
    notices: Notices, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    notices.enter(Event.CIRCUIT_OPENED, "the service is failing")
    clock.advance(5.0)
    notices.enter(Event.CIRCUIT_CLOSED, "the service answers")
    clock.advance(5.0)
    notices.enter(Event.CIRCUIT_OPENED, "the service is failing")
    assert said(caplog) == ["circuit.opened", "circuit.closed"]
    clock.advance(50.0)
    assert said(caplog) == ["circuit.opened", "circuit.closed", "circuit.opened"]


def test_change_that_was_held_back_and_undone_is_not_said(
    notices: Notices, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for event in (
        Event.CIRCUIT_OPENED,
        Event.CIRCUIT_CLOSED,
        Event.CIRCUIT_OPENED,
        Event.CIRCUIT_CLOSED,
    ):
        notices.enter(event, "as it is")
        clock.advance(1.0)
    clock.advance(600.0)
    assert said(caplog) == ["circuit.opened", "circuit.closed"]


def test_fault_is_named_by_type_and_place_without_its_words() -> None:
    try:
        raise ValueError("the cat sleeps on the radiator")
    except ValueError as error:
        where = fault_of(error)
    assert where.startswith("ValueError in test_notices.py:")
    assert "cat" not in where
    assert fault_of(ValueError("the cat")) == "ValueError"


def test_client_of_each_turn_is_no_line_for_each_turn(
    memory_server: DevServer, caplog: pytest.LogCaptureFixture
) -> None:
    memory_server.faults.add(Fault("status", status=401))
    for _ in range(3):
        settings = resolve(
            Provider.REKALL, Adapter.DIRECT, url=memory_server.url, api_key="rk_notices"
        )
        with MemoryClient(settings) as client:
            client.recall(Scope("ada"), "which tea do I like best?")
    assert said(caplog) == ["credentials.rejected"]


def test_one_speaks_for_an_account_and_not_for_ever() -> None:
    first = notices_of("rekall", "account-of-the-test")
    assert notices_of("rekall", "account-of-the-test") is first
    for number in range(MOST):
        notices_of("rekall", f"account-{number}")
    assert notices_of("rekall", "account-of-the-test") is not first
    assert len(runtime.current().notices) <= MOST
