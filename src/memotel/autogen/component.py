"""The declarative form of a memory: every setting that was given, and no secret.

A key or token, a header's value and a URL with a password are dumped as the name of the environment variable that they
are read from on load (`from_env`). Functions are dumped as "module:name": like everything AutoGen loads, a
configuration runs code, so load only those that you trust. What can be neither is an error that names the setting.
"""

import re
import ssl
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from memotel.autogen.compat import BaseModel
from memotel.config import (
    BreakerPolicy,
    Engine,
    PermitPolicy,
    RecallPolicy,
    RetryPolicy,
    WatchdogPolicy,
    WritePolicy,
)
from memotel.errors import ConfigurationError
from memotel.outcomes import Provider
from memotel.settings import KEY_VARIABLES, read_environment


class MemoryConfig(BaseModel):
    """What a dump holds: the arguments that were given, under their own names, and `from_env` for the secret ones.

    `from_env` maps an argument ("api_key", "proxy", "headers.x-user-id") to the variable it is read from.
    """

    from_env: dict[str, str] | None = None
    user_id: str | None = None
    session_id: str | None = None
    top_k: int | None = None
    limit: int | None = None
    recall_timeout: float | None = None
    write_timeout: float | None = None
    placement: Literal["system", "user"] | None = None
    capture: Literal["none", "user", "both"] | None = None
    user_names: list[str] | None = None
    emit_event: bool | None = None
    name: str | None = None
    api_key_file: str | None = None
    api_key_function: str | None = None
    min_prompt_chars: int | None = None
    min_score: float | None = None
    max_prompt_chars: int | None = None
    max_context_chars: int | None = None
    max_recalls_in_flight: int | None = None
    search_timeout: float | None = None
    exit_drain_timeout: float | None = None
    outbox: str | None = None
    outbox_max_writes: int | None = None
    outbox_max_bytes: int | None = None
    on_full: Literal["drop_newest", "raise"] | None = None
    proxy: str | None = None
    verify: bool | str | None = None
    cert: str | list[str] | None = None
    keepalive: float | None = None
    http_engine: Engine | None = None
    propagate: bool | None = None
    record_session_id: bool | None = None
    allow_insecure_http: bool | None = None
    account: str | None = None
    redact: str | None = None
    recall: RecallPolicy | None = None
    breaker: BreakerPolicy | None = None
    retry: RetryPolicy | None = None
    permits: PermitPolicy | None = None
    writes: WritePolicy | None = None
    watchdog: WatchdogPolicy | None = None


class RekallConfig(MemoryConfig):
    """A dumped `RekallMemory`."""

    api_url: str | None = None


class MemorySyncConfig(MemoryConfig):
    """A dumped `MemorySyncMemory`."""

    base_url: str | None = None
    project_id: str | None = None


def portable(given: Mapping[str, object], provider: Provider) -> dict[str, object]:
    """Return the fields of a configuration for these arguments; raises `ConfigurationError` for one that has no form."""
    fields: dict[str, object] = {}
    from_env: dict[str, str] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name == "headers":
            from_env |= _header_variables(value, provider)
        elif name == "api_key" and isinstance(value, str):
            from_env[name] = KEY_VARIABLES[provider]
        elif _has_password(value):
            from_env[name] = f"MEMOTEL_{name.upper()}"
        else:
            fields |= _field(name, value)
    return {**fields, "from_env": from_env or None}


def _header_variables(headers: object, provider: Provider) -> dict[str, str]:
    start = KEY_VARIABLES[provider].removesuffix("API_KEY") + "HEADER_"
    names = list(headers) if isinstance(headers, Mapping) else []
    return {f"headers.{name}": start + re.sub(r"\W", "_", name).upper() for name in names}


def _has_password(value: object) -> bool:
    return isinstance(value, str) and "://" in value and "@" in urlsplit(value).netloc


def _field(name: str, value: object) -> dict[str, object]:
    if name in ("api_key", "redact"):
        return {"api_key_function" if name == "api_key" else name: _reference(name, value)}
    if isinstance(value, Path):
        return {name: str(value)}
    if name == "user_names" and isinstance(value, Collection):
        return {name: sorted(value)}
    if name in _WITHOUT_FORM or isinstance(value, ssl.SSLContext) or _holds_passphrase(name, value):
        raise ConfigurationError(f"{name} has no declarative form; construct this memory in code")
    return {name: list(value) if isinstance(value, tuple) else value}


_WITHOUT_FORM = frozenset({"transport", "network", "outbox_policy"})


def _holds_passphrase(name: str, value: object) -> bool:
    return name == "cert" and isinstance(value, tuple) and len(value) > 2


def _reference(name: str, function: object) -> str:
    module = getattr(function, "__module__", "")
    qualname = getattr(function, "__qualname__", "<none>")
    if "<" in qualname or not module:
        raise ConfigurationError(
            f"{name} has a declarative form only as a function at module level"
        )
    return f"{module}:{qualname}"


def arguments_of(config: MemoryConfig) -> dict[str, Any]:
    """Return the arguments a configuration stands for; raises `ConfigurationError` for a variable that is not set."""
    given = {name: getattr(config, name) for name in type(config).model_fields}
    variables = given.pop("from_env")
    key_function, redact = given.pop("api_key_function"), given.pop("redact")
    arguments = {name: value for name, value in given.items() if value is not None}
    if isinstance(arguments.get("cert"), list):
        arguments["cert"] = tuple(arguments["cert"])
    for name, reference in (("api_key", key_function), ("redact", redact)):
        if reference is not None:
            arguments[name] = _function(name, reference)
    return arguments | _from_environment(variables or {})


def _from_environment(variables: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    headers: dict[str, str] = {}
    for name, variable in variables.items():
        value = read_environment().get(variable)
        if not value:
            raise ConfigurationError(
                f"{variable} is not set; the configuration reads {name} from it"
            )
        argument, _, header = name.partition(".")
        if header:
            headers[header] = value
        else:
            values[argument] = value
    return {**values, "headers": headers} if headers else values


def _function(name: str, reference: str) -> Callable[..., Any]:
    module, _, qualname = reference.partition(":")
    try:
        found = attrgetter(qualname)(import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"{name} names no function that can be imported") from error
    if not callable(found):
        raise ConfigurationError(f"{name} names no function")
    function: Callable[..., Any] = found
    return function
