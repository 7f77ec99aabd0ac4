"""The settings of a service and where each comes from: an argument, a variable, the default. Never a secret."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import fields

from memotel.config import ClientSettings, Switches
from memotel.doctor.cases import Case, Options
from memotel.doctor.findings import Finding, Level, Topic
from memotel.doctor.masking import without_userinfo
from memotel.settings import DEFAULT_URLS, KEY_VARIABLES, SETTINGS, URL_VARIABLES, Setting
from memotel.values import Json

DEFAULT = "default"
ARGUMENT = "argument"
OTHER_VARIABLES = ("MEMOTEL_DISABLED", "MEMOTEL_LOOP")


def check_choices(case: Case, options: Options, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Say where the key, the address and each setting come from."""
    yield _credential(case, options)
    chosen = {setting.name: _source(setting, environ) for setting in SETTINGS}
    values = {setting.name: _value(setting, case.settings) for setting in SETTINGS}
    data: dict[str, Json] = {
        name: {"value": values[name], "source": source} for name, source in chosen.items()
    }
    own = [f"{name}={values[name]} ({by})" for name, by in chosen.items() if by != DEFAULT]
    text = ", ".join([*own, "all other settings by default" if own else "all settings by default"])
    yield Finding(Topic.SETTINGS, case.provider, Level.OK, text, data=data)


def check_switches(switches: Switches) -> Iterator[Finding]:
    """Warn of what MEMOTEL_DISABLED turned off."""
    off = [name for name in ("recall", "writes") if getattr(switches, name)]
    if off:
        yield Finding(
            Topic.SETTINGS,
            "MEMOTEL_DISABLED",
            Level.WARNING,
            f"{' and '.join(off)} switched off",
            "unset MEMOTEL_DISABLED to have memory again",
            {"off": list(off)},
        )


def check_spelling(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Warn of variables that look like ours and are none."""
    known = [*(setting.variable for setting in SETTINGS), *OTHER_VARIABLES]
    for name in sorted(environ):
        if name.startswith("MEMOTEL_") and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            advice = (
                f"did you mean {near[0]}?" if near else "unset it; docs/stability.md lists ours"
            )
            yield Finding(
                Topic.SETTINGS, name, Level.WARNING, "is no variable of memotel's", advice
            )


def _credential(case: Case, options: Options) -> Finding:
    by_url = ARGUMENT if options.url else _variable(URL_VARIABLES[case.provider], case)
    by_key = ARGUMENT if options.key_file else KEY_VARIABLES[case.provider]
    has_key = case.settings.credential is not None
    url = without_userinfo(case.settings.base_url)
    key = f"key present, from {by_key}" if has_key else "no key"
    return Finding(
        Topic.SETTINGS,
        case.provider,
        Level.OK,
        f"{url} ({by_url}); {key}",
        data={
            "base_url": {"value": url, "source": by_url},
            "key": {"is_present": has_key, "source": by_key if has_key else None},
        },
    )


def _variable(name: str, case: Case) -> str:
    return DEFAULT if case.settings.base_url == DEFAULT_URLS[case.provider] else name


def _source(setting: Setting, environ: Mapping[str, str]) -> str:
    return setting.variable if environ.get(setting.variable, "").strip() else DEFAULT


def _value(setting: Setting, settings: ClientSettings) -> Json:
    value = getattr(_holder(setting, settings), setting.field)
    if isinstance(value, str):
        return without_userinfo(value) if "://" in value or "@" in value else value
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _holder(setting: Setting, settings: ClientSettings) -> object:
    if setting.policy is ClientSettings:
        return settings
    policies = (getattr(settings, each.name) for each in fields(settings))
    return next(policy for policy in policies if type(policy) is setting.policy)
