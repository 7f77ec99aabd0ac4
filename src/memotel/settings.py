"""From arguments and environment to complete settings: an argument wins, then its variable, then the default."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from memotel.config import (
    BreakerPolicy,
    ClientSettings,
    NetworkPolicy,
    OutboxPolicy,
    PermitPolicy,
    RecallPolicy,
    RetryPolicy,
    Switches,
    WatchdogPolicy,
    WritePolicy,
    check,
    check_kind,
)
from memotel.credentials import Credential, CredentialCallable, carried
from memotel.errors import ConfigurationError
from memotel.outcomes import Adapter, Provider
from memotel.wording import did_you_mean, with_article

DEFAULT_URLS = {
    Provider.MEMORYSYNC: "https://api.memorysync.io",
    Provider.REKALL: "https://api.rekall.app",
}
URL_VARIABLES = {
    Provider.MEMORYSYNC: "MEMORYSYNC_BASE_URL",
    Provider.REKALL: "REKALL_API_URL",
}
URL_ARGUMENTS = {
    Provider.MEMORYSYNC: "base_url",
    Provider.REKALL: "api_url",
}
KEY_VARIABLES = {
    Provider.MEMORYSYNC: "MEMORYSYNC_API_KEY",
    Provider.REKALL: "REKALL_API_KEY",
}


PREFIX = "MEMOTEL_"
_PREFIXES = frozenset({PREFIX, PREFIX.encode()})


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting that a user meets: its name, where it lands, and how its variable is read."""

    name: str
    policy: type
    field: str
    kind: type
    variable: str = ""
    """The environment variable of this setting."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "variable", f"{PREFIX}{self.name.upper()}")


SETTINGS: tuple[Setting, ...] = (
    Setting("recall_timeout", RecallPolicy, "budget_s", float),
    Setting("search_timeout", RecallPolicy, "search_budget_s", float),
    Setting("top_k", RecallPolicy, "top_k", int),
    Setting("min_prompt_chars", RecallPolicy, "min_prompt_chars", int),
    Setting("min_score", RecallPolicy, "min_score", float),
    Setting("max_prompt_chars", RecallPolicy, "max_prompt_chars", int),
    Setting("max_context_chars", RecallPolicy, "max_context_chars", int),
    Setting("max_recalls_in_flight", PermitPolicy, "recalls", int),
    Setting("write_timeout", WritePolicy, "attempt_budget_s", float),
    Setting("exit_drain_timeout", WritePolicy, "exit_drain_s", float),
    Setting("outbox", OutboxPolicy, "url", str),
    Setting("outbox_max_writes", OutboxPolicy, "max_writes", int),
    Setting("outbox_max_bytes", OutboxPolicy, "max_bytes", int),
    Setting("on_full", OutboxPolicy, "on_full", str),
    Setting("proxy", NetworkPolicy, "proxy", str),
    Setting("verify", NetworkPolicy, "verify", str),
    Setting("cert", NetworkPolicy, "cert", str),
    Setting("keepalive", NetworkPolicy, "keepalive_s", float),
    Setting("http_engine", NetworkPolicy, "engine", str),
    Setting("propagate", NetworkPolicy, "propagate", bool),
    Setting("record_session_id", ClientSettings, "record_session_id", bool),
    Setting("allow_insecure_http", ClientSettings, "allow_insecure_http", bool),
    Setting("project_id", ClientSettings, "project_id", str),
    Setting("account", ClientSettings, "account_label", str),
)
_SETTINGS_OF = {
    policy: tuple(setting for setting in SETTINGS if setting.policy is policy)
    for policy in {setting.policy for setting in SETTINGS}
}
_POLICY_FIELDS: dict[str, type] = {
    "recall": RecallPolicy,
    "breaker": BreakerPolicy,
    "retry": RetryPolicy,
    "permits": PermitPolicy,
    "writes": WritePolicy,
    "outbox": OutboxPolicy,
    "network": NetworkPolicy,
    "watchdog": WatchdogPolicy,
}
_DIRECT = {"headers": "headers", "transport": "transport"}
_KNOWN = frozenset(
    {setting.name for setting in SETTINGS}
    | set(_POLICY_FIELDS)
    | set(_DIRECT)
    | {"redact", "outbox_policy"}
)
_KINDS = {int: "a whole number", float: "a number"}
_BOOLEANS = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


def read_environment() -> Mapping[str, str]:
    """Return the process environment: the one place where memotel's settings read it."""
    return os.environ


def loop_named(environ: Mapping[str, str]) -> str:
    """Return which background loop MEMOTEL_LOOP asks for, "auto" where it asks for none."""
    return environ.get("MEMOTEL_LOOP", "").strip().lower() or "auto"


def switches(environ: Mapping[str, str] | None = None) -> Switches:
    """Return what MEMOTEL_DISABLED turns off: any of `recall`, `writes`, `all`, separated by commas."""
    text = (environ if environ is not None else read_environment()).get("MEMOTEL_DISABLED", "")
    parts = {part.strip().lower() for part in text.split(",") if part.strip()}
    unknown = sorted(parts - {"recall", "writes", "all"})
    check(not unknown, "MEMOTEL_DISABLED", text, "recall, writes or all, separated by commas")
    is_all = "all" in parts
    return Switches(recall=is_all or "recall" in parts, writes=is_all or "writes" in parts)


def resolve(
    provider: Provider,
    adapter: Adapter,
    *,
    url: str | None = None,
    api_key: str | CredentialCallable | None = None,
    api_key_file: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    **given: object,
) -> ClientSettings:
    """Complete what the caller gave with the environment and the defaults.

    `given` holds any name of `SETTINGS`, `headers`, `transport`, `redact`, or a whole policy (`recall=`, `breaker=`,
    `retry=`, `permits=`, `writes=`, `outbox_policy=`, `network=`, `watchdog=`); None means not given. Raises `ConfigurationError`.
    """
    env = environ if environ is not None else read_environment()
    loop = loop_named(env)
    check(loop in ("auto", "asyncio"), "MEMOTEL_LOOP", loop, "asyncio or auto")
    check(provider in list(Provider), "provider", provider, f"one of {', '.join(Provider)}")
    check(adapter in list(Adapter), "adapter", adapter, f"one of {', '.join(Adapter)}")
    service = Provider(provider)
    values = {name: value for name, value in given.items() if value is not None}
    unknown = sorted(values.keys() - _KNOWN)
    if unknown:
        raise ConfigurationError(_unknown(unknown[0], service))
    variables = _ours(env)
    try:
        return ClientSettings(
            provider=service,
            adapter=Adapter(adapter),
            base_url=_url(url, env, service),
            credential=_given_credential(api_key, api_key_file)
            or (None if values.get("headers") else _credential_from(env, service)),
            switches=switches(variables),
            redact=values.get("redact"),  # type: ignore[arg-type] # checked by use; any callable will do
            **_policies(values, variables),  # type: ignore[arg-type] # each value is validated by its own policy
            **_chosen(ClientSettings, values, variables),  # type: ignore[arg-type] # each value was parsed as its setting says
        )
    except ConfigurationError as error:
        source = "" if url else URL_VARIABLES[service]
        told = _as_given(str(error), values, variables, source if env.get(source) else "")
        raise ConfigurationError(told) from None


def _unknown(name: str, provider: Provider) -> str:
    """Say that there is no such setting here, and which was probably meant."""
    own = URL_ARGUMENTS[provider]
    if name in URL_ARGUMENTS.values():
        right = "url" if name == own else f"{own} (url in Agent Framework)"
        return f"{name} is not a setting of {provider} here: its address is {right}"
    near = did_you_mean(name, _KNOWN | {"api_key", "api_key_file"})
    return (
        f"{name} is not a setting here{near or '; the settings are ' + ', '.join(sorted(_KNOWN))}"
    )


def _as_given(
    text: str, values: Mapping[str, object], variables: Mapping[str, str], url_variable: str
) -> str:
    """Name the setting as its user knows it in a message that names a policy's field, and the variable it came from."""
    name, _, rest = text.partition(" ")
    for setting in SETTINGS:
        if name in (setting.name, setting.field):
            if setting.name in values:
                return f"{setting.name} {rest}"
            if variables.get(setting.variable, "").strip():
                return f"{setting.variable}: {setting.name} {rest}"
    is_from_variable = url_variable and name in URL_ARGUMENTS.values()
    return f"{url_variable}: {text}" if is_from_variable else text


def _ours(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of `SETTINGS` that are set.

    Asking `os.environ` for one that is not costs microseconds, and there are two dozen; the dictionary inside says at
    once which are there.
    """
    inside: Iterable[str | bytes] = getattr(env, "_data", env)
    # A list is made in one step: other threads may set variables meanwhile.
    names = [os.fsdecode(name) for name in list(inside) if name[: len(PREFIX)] in _PREFIXES]
    return {name: text for name in names if (text := env.get(name)) is not None}


def _url(url: str | None, env: Mapping[str, str], provider: Provider) -> str:
    if url is not None and url != "":
        return url
    return env.get(URL_VARIABLES[provider], "").strip() or DEFAULT_URLS[provider]


def _given_credential(
    api_key: str | CredentialCallable | None, api_key_file: str | Path | None
) -> Credential | None:
    if api_key is not None and api_key_file is not None:
        raise ConfigurationError("api_key and api_key_file are both given; give one of them")
    if api_key_file is not None:
        return Credential(path=_key_file(api_key_file))
    if isinstance(api_key, str):
        return Credential(carried("api_key", api_key))
    is_callable = api_key is None or callable(api_key)
    check_kind(is_callable, "api_key", api_key, "text or a callable that returns it")
    return Credential(function=api_key) if api_key is not None else None


def _key_file(given: object) -> Path:
    is_path = isinstance(given, str | Path)
    check_kind(is_path, "api_key_file", given, "the path of a file that exists")
    path = Path(str(given))
    try:
        is_file = path.is_file()
    except (OSError, ValueError):
        is_file = False
    check(is_file, "api_key_file", str(given), "a file that exists")
    return path


def _credential_from(env: Mapping[str, str], provider: Provider) -> Credential | None:
    text = env.get(KEY_VARIABLES[provider], "").strip()
    return Credential(carried(KEY_VARIABLES[provider], text)) if text else None


def _read_variable(setting: Setting, env: Mapping[str, str]) -> object:
    text = env.get(setting.variable)
    if text is None or not text.strip():
        return None
    if setting.name == "verify":
        return _BOOLEANS.get(text.strip().lower(), text.strip())
    if setting.kind is bool:
        check(text.strip().lower() in _BOOLEANS, setting.variable, text, "true or false")
        return _BOOLEANS[text.strip().lower()]
    try:
        value: object = setting.kind(text.strip())
    except ValueError:
        check(False, setting.variable, text, _KINDS[setting.kind])
    return value


def _chosen(
    policy: type, values: Mapping[str, object], env: Mapping[str, str]
) -> dict[str, object]:
    found: dict[str, object] = {}
    for setting in _SETTINGS_OF.get(policy, ()):
        value = values.get(setting.name)
        value = _read_variable(setting, env) if value is None else value
        if value is not None:
            found[setting.field] = value
    return found


def _policies(values: Mapping[str, object], env: Mapping[str, str]) -> dict[str, object]:
    result: dict[str, object] = {}
    for name, policy in _POLICY_FIELDS.items():
        argument = "outbox_policy" if name == "outbox" else name
        if argument in values:
            result[name] = _whole(argument, policy, values)
            continue
        chosen = _chosen(policy, values, env)
        if policy is NetworkPolicy:
            chosen |= {key: values[key] for key in _DIRECT if key in values}
        result[name] = _policy(policy, chosen)
    return result


def _whole(name: str, policy: type, values: Mapping[str, object]) -> object:
    """Return a policy that was given as a whole, which leaves no room for one of its settings beside it."""
    value = values[name]
    check_kind(isinstance(value, policy), name, value, with_article(policy.__name__))
    singles = [setting.name for setting in _SETTINGS_OF.get(policy, ())]
    singles += _DIRECT if policy is NetworkPolicy else ()
    beside = [single for single in singles if single in values]
    if beside:
        raise ConfigurationError(
            f"{beside[0]} and {name} are both given; give one of them "
            f"({beside[0]} is part of {policy.__name__})"
        )
    return value


def _policy(policy: type, chosen: Mapping[str, object]) -> object:
    """Return the policy with what was chosen: one object for all clients that choose alike, since none changes it."""
    make: Callable[..., object] = policy
    if policy is NetworkPolicy and chosen:
        return make(**chosen)  # may hold secrets, and what cannot be compared
    try:
        return _shared(make, tuple((name, type(value), value) for name, value in chosen.items()))
    except TypeError:
        return make(**chosen)


@lru_cache(64)
def _shared(make: Callable[..., object], chosen: tuple[tuple[str, type, object], ...]) -> object:
    return make(**{name: value for name, _, value in chosen})
