"""Every error has exactly one outcome, and none of them says a secret."""

from collections.abc import Iterator

import pytest

from memotel import errors
from memotel.errors import MemotelError
from memotel.outcomes import Outcome


def subclasses(kind: type[MemotelError]) -> Iterator[type[MemotelError]]:
    for child in kind.__subclasses__():
        if child.__module__ == "memotel.errors":
            yield child
            yield from subclasses(child)


@pytest.mark.parametrize("kind", list(subclasses(MemotelError)), ids=lambda k: k.__name__)
def test_error_has_one_outcome_and_a_known_error_type(kind: type[MemotelError]) -> None:
    known = {
        "timeout",
        "connect_error",
        "protocol_error",
        "rate_limited",
        "quota_exceeded",
        "auth",
        "invalid_request",
        "server_error",
        "circuit_open",
        "_OTHER",
    }

    assert isinstance(kind.outcome, Outcome)
    assert kind.error_type in known
    assert kind.__name__.endswith("Error")


def test_error_tree_is_drawn_in_its_module() -> None:
    for kind in subclasses(MemotelError):
        assert kind.__name__ in (errors.__doc__ or "")
