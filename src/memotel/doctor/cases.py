"""What is examined: the services that are configured here, each with its settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memotel.config import ClientSettings
from memotel.outcomes import Adapter, Provider
from memotel.settings import KEY_VARIABLES, resolve


@dataclass(frozen=True, slots=True)
class Options:
    """What the doctor was asked for.

    Attributes:
        providers: the services to examine; none: those whose key is in the environment.
        url: base URL of the one service, in place of its variable.
        key_file: file with the key of the one service, in place of its variable.
        write_user: whose memory the write probe goes to; None: nothing is written.
    """

    providers: tuple[Provider, ...] = ()
    url: str | None = None
    key_file: Path | None = None
    write_user: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One service to examine, with its complete settings."""

    provider: Provider
    settings: ClientSettings


def providers_of(options: Options, environ: Mapping[str, str]) -> tuple[Provider, ...]:
    """Return the services to examine, none where nothing is configured."""
    if options.providers:
        return options.providers
    return tuple(each for each in Provider if environ.get(KEY_VARIABLES[each], "").strip())


def case_of(provider: Provider, options: Options, environ: Mapping[str, str]) -> Case:
    """Complete the settings of a service; raises `ConfigurationError`."""
    settings = resolve(
        provider,
        Adapter.DIRECT,
        url=options.url,
        api_key_file=options.key_file,
        environ=environ,
    )
    return Case(provider, settings)
