"""Faults as values, and which requests they strike, with times passed in."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotel.devserver.book import FaultBook
from memotel.devserver.faults import (
    WHOLE_SERVER,
    Fault,
    FaultKind,
    KindName,
    RetryAfter,
    fault_fields,
    fault_from,
    fault_from_text,
)
from memotel.devserver.routes import Route

RECALL, ADD = Route.MEMORYSYNC_RECALL, Route.MEMORYSYNC_ADD_TURN
SECONDS = st.floats(0.0, 1e6)
FAULTS = st.builds(
    Fault,
    kind=st.sampled_from([kind for kind in FaultKind if kind not in WHOLE_SERVER]),
    on=st.sampled_from(["*", "memorysync", "recalls", "writes", "memorysync.add_turn"]),
    delay_s=SECONDS,
    sigma=SECONDS,
    stored=st.booleans(),
    status=st.integers(200, 599),
    retry_after_s=st.none() | SECONDS,
    retry_after_as=st.sampled_from(RetryAfter),
    first_attempt=st.booleans(),
    times=st.none() | st.integers(0, 9),
    for_s=st.none() | SECONDS,
    flap_requests=st.none() | st.tuples(st.integers(1, 9), st.integers(0, 9)),
    flap_s=st.none() | st.tuples(st.floats(0.1, 9.0), SECONDS),
)


def book_of(*faults: Fault) -> FaultBook:
    book = FaultBook()
    book.set(faults, now=100.0)
    return book


def strikes(book: FaultBook, *nows: float, route: Route = RECALL) -> list[bool]:
    return [bool(book.strike(route, f"request-{n}", now)) for n, now in enumerate(nows)]


@given(FAULTS)
def test_fault_survives_json(fault: Fault) -> None:
    fields = json.loads(json.dumps(fault_fields(fault)))
    assert fault_from(fields) == fault


def test_kind_can_be_written_as_its_name() -> None:
    assert get_args(KindName) == tuple(FaultKind)
    assert Fault("hang").kind is FaultKind.HANG


def test_fault_is_read_from_the_form_of_the_command_line() -> None:
    assert fault_from_text("hang") == Fault("hang")
    text = "status:on=writes,status=503,retry_after_s=1.5,first_attempt=true,flap_requests=1/2"
    assert fault_from_text(text) == Fault(
        "status",
        "writes",
        status=503,
        retry_after_s=1.5,
        first_attempt=True,
        flap_requests=(1, 2),
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "needs a kind"),
        ({"kind": "flood"}, "kind='flood' is not one of: delay, drip"),
        ({"kind": 1}, "kind=1 must be a text"),
        ({"kind": "hang", "on": "nowhere"}, "is no target"),
        ({"kind": "hang", "colour": "red"}, "colour is no field of a fault; one of: kind, on"),
        ({"kind": "delay", "delay_s": -1}, "delay_s=-1 must not be negative"),
        ({"kind": "delay", "delay_s": True}, "delay_s=True must be a number"),
        ({"kind": "status", "status": 99}, "status=99 must be from 200 to 599"),
        ({"kind": "hang", "flap_s": [0, 0]}, r"flap_s=\(0, 0\) must be two numbers"),
        ({"kind": "hang", "flap_s": [1]}, r"flap_s=\[1\] must be two numbers"),
        ({"kind": "silent", "on": "rekall"}, "concerns the whole server"),
        ({"kind": "refuse", "times": 2}, "concerns the whole server"),
        ({"kind": "silent_quota", "on": "rekall"}, "strikes no route of on='rekall'"),
        ({"kind": "status", "retry_after_as": "x"}, "is not one of: seconds, date, body"),
    ],
)
def test_wrong_fault_is_refused_with_the_reason(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fault_from(fields)


def test_times_bounds_the_strikes() -> None:
    assert strikes(book_of(Fault("hang", times=2)), *[100.0] * 4) == [True, True, False, False]


def test_other_routes_are_spared_and_not_counted() -> None:
    book = book_of(Fault("hang", "memorysync.recall", flap_requests=(1, 1)))
    assert strikes(book, 100.0, 100.0, route=ADD) == [False, False]
    assert strikes(book, 100.0, 100.0, 100.0) == [True, False, True]


def test_first_attempt_strikes_each_fingerprint_once() -> None:
    book = book_of(Fault("hang", first_attempt=True))
    struck = [bool(book.strike(ADD, fingerprint, 100.0)) for fingerprint in "abaabc"]
    assert struck == [True, True, False, False, False, True]


def test_time_limit_ends_a_fault() -> None:
    book = book_of(Fault("hang", for_s=5.0), Fault("delay"))
    assert [len(book.strike(RECALL, "x", now)) for now in (100.0, 104.9, 105.0)] == [2, 2, 1]
    assert book.in_force(105.0) == (Fault("delay"),)
    assert (book.next_end(100.0), book.next_end(105.0)) == (105.0, None)


def test_flapping_alternates_by_time() -> None:
    book = book_of(Fault("hang", flap_s=(1.0, 2.0)))
    assert strikes(book, 100.0, 100.9, 101.0, 102.9, 103.0, 104.5) == [
        *(True, True, False),
        *(False, True, False),
    ]


def test_last_fault_of_the_whole_server_decides() -> None:
    book = book_of(Fault("silent"), Fault("refuse", for_s=1.0))
    assert book.whole_server(100.0) is FaultKind.REFUSE
    assert book.whole_server(101.0) is FaultKind.SILENT
    assert FaultBook().whole_server(100.0) is None
