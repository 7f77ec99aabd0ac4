"""What a memory is constructed with: every setting by name, and the adapter's own options, checked."""

import os
import re
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Literal

from memotel.autogen.messages import Placement
from memotel.config import (
    ClientSettings,
    check,
)
from memotel.credentials import CredentialCallable
from memotel.errors import ConfigurationError
from memotel.options import SharedOptions
from memotel.outcomes import Adapter, Provider
from memotel.settings import resolve
from memotel.values import Scope

Key = str | CredentialCallable
CaptureName = Literal["none", "user", "both"]
USER_NAMES = ("user", "user_proxy")
"""Sources whose messages are a person's words: what `run(task=...)` writes, and the usual name of a `UserProxyAgent`."""

_NAME = re.compile(r"[\w .:-]{1,64}")


class Settings(SharedOptions, total=False):
    """Every further setting, as the README's table names it; None means not given."""

    api_key_file: str | Path | None


class Arguments(Settings, total=False):
    """All that a memory can be constructed with; None means not given. `url` is the service's address."""

    url: str | None
    api_key: Key | None
    headers: Mapping[str, str] | None
    project_id: str | None
    user_id: str
    session_id: str
    top_k: int | None
    limit: int | None
    recall_timeout: float | None
    write_timeout: float | None
    placement: Placement
    capture: CaptureName
    user_names: Collection[str] | None
    emit_event: bool
    name: str | None


class Capture(StrEnum):
    """Whose words are written without being added."""

    NONE = "none"
    USER = "user"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Options:
    """What the adapter itself needs to know.

    Attributes:
        user_id: whose memory it is; empty where the service knows from the credential.
        session_id: the conversation that turns belong to; empty: one session a process.
        name: how the memory is called in its block; tells several memories of one agent apart.
        placement: where the block is shown: a system message at the head, or in the last user's message.
        capture: whose words are written without being added.
        user_names: sources whose messages are a person's words.
        emit_event: whether recalled items are returned to AutoGen, which puts them into results and streams, and before
            a team's termination condition.
    """

    user_id: str
    session_id: str
    name: str
    placement: Placement = "system"
    capture: Capture = Capture.NONE
    user_names: frozenset[str] = frozenset(USER_NAMES)
    emit_event: bool = False

    def __post_init__(self) -> None:
        is_name = _is_text(self.name) and bool(_NAME.fullmatch(self.name))
        check(_is_text(self.user_id), "user_id", self.user_id, "a text")
        check(_is_text(self.session_id), "session_id", self.session_id, "a text")
        check(is_name, "name", self.name, "1 to 64 letters, digits, blanks or one of . : - _")
        is_place = self.placement in ("system", "user")
        check(is_place, "placement", self.placement, "'system' or 'user'")
        check(isinstance(self.emit_event, bool), "emit_event", self.emit_event, "True or False")

    @property
    def scope(self) -> Scope:
        """Whose memory it is, now: memories without a session of their own share one in each process."""
        return Scope(self.user_id, self.session_id or session_of_process(os.getpid()))


@cache
def session_of_process(pid: int) -> str:
    """Return the session of those who name none; the same words said in another process are another session's."""
    return f"{pid:x}-{uuid.uuid4().hex}"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_OPTIONS = frozenset(
    {"user_id", "session_id", "name", "placement", "capture", "user_names", "emit_event"}
)
_RENAMED = frozenset({"url", "api_key", "api_key_file", "top_k", "limit"})


def read_options(given: Arguments, default_name: str) -> Options:
    """Return the adapter's own options; raises `ConfigurationError`."""
    user_id, session_id, name = given.get("user_id"), given.get("session_id"), given.get("name")
    return Options(
        user_id="" if user_id is None else user_id,
        session_id="" if session_id is None else session_id,
        name=default_name if name is None or name == "" else name,
        placement=given.get("placement", "system"),
        capture=_capture(given.get("capture", "none")),
        user_names=_user_names(given.get("user_names")),
        emit_event=given.get("emit_event", False),
    )


def _user_names(names: object) -> frozenset[str]:
    if names is None:
        return frozenset(USER_NAMES)
    found = list(names) if isinstance(names, Collection) and not isinstance(names, str) else None
    texts = frozenset(name for name in found or () if isinstance(name, str))
    is_of_names = found is not None and all(isinstance(name, str) for name in found)
    check(is_of_names, "user_names", names, "a collection of names")
    return texts


def _capture(value: str) -> Capture:
    check(value in list(Capture), "capture", value, "'none', 'user' or 'both'")
    return Capture(value)


def read_settings(given: Arguments, provider: Provider) -> ClientSettings:
    """Return the client's settings, completed from the environment; raises `ConfigurationError`."""
    rest = {k: v for k, v in given.items() if k not in _OPTIONS and k not in _RENAMED}
    return resolve(
        provider,
        Adapter.AUTOGEN,
        url=given.get("url"),
        api_key=given.get("api_key"),
        api_key_file=given.get("api_key_file"),
        environ=None,
        top_k=_top_k(given),
        **rest,
    )


def _top_k(given: Arguments) -> int | None:
    top_k, limit = given.get("top_k"), given.get("limit")
    if top_k is not None and limit is not None and top_k != limit:
        raise ConfigurationError("top_k and limit are both given and differ; give one of them")
    return limit if top_k is None else top_k
