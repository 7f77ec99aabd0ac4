"""Whose memory a hook works on: the capability's own user and session, or an override for this thread or task."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

from memotel.config import check
from memotel.values import Scope

_overrides: ContextVar[Mapping["Scopes", Scope]] = ContextVar(
    "memotel_scopes", default=MappingProxyType({})
)


class Scopes:
    """The scope of one capability, and its overrides. Correct across threads and tasks: it lives in a contextvar."""

    def __init__(self, default: Scope) -> None:
        self.default = default
        self.is_overridden = False
        """Whether an override was ever made, so that the default may not be what a conversation is about."""

    def current(self) -> Scope:
        """Return the scope that holds here and now."""
        return _overrides.get().get(self, self.default)

    @contextmanager
    def override(self, user_id: str | None, session_id: str | None) -> Iterator[Scope]:
        """Work on another user's or session's memory in this thread or task while the block runs."""
        outer = self.current()
        scope = Scope(
            user_id=outer.user_id if user_id is None else checked_id("user_id", user_id),
            session_id=outer.session_id
            if session_id is None
            else checked_id("session_id", session_id),
        )
        self.is_overridden = True
        token = _overrides.set({**_overrides.get(), self: scope})
        try:
            yield scope
        finally:
            _overrides.reset(token)


def checked_id(name: str, value: object) -> str:
    """Return `value` where it is a text that is not blank, otherwise raise a `ConfigurationError`."""
    check(isinstance(value, str) and bool(value.strip()), name, value, "a text that is not empty")
    return str(value)


def new_session_id() -> str:
    """Return a session id that nobody has used."""
    return uuid.uuid4().hex


def scope_of(user_id: str, session_id: str | None) -> Scope:
    """Return the scope of a memory, with a session of its own where none is given.

    `user_id` may be empty where the service knows the user by the key; None is no user.
    """
    check(isinstance(user_id, str), "user_id", user_id, "a text")
    if session_id is None:
        return Scope(user_id, new_session_id())
    return Scope(user_id, checked_id("session_id", session_id))
