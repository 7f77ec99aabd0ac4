"""Policies and settings: frozen, validated where they are made, with units in the names.

An error names the field, what it got (never a credential) and what is allowed. The environment is read in
`memotel.settings` only.
"""

import math
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from memotel.credentials import Credential, account_key, are_headers, exists, masked, url_parts
from memotel.errors import ConfigurationError
from memotel.outcomes import Adapter, Provider
from memotel.places import MEMORY, place_of
from memotel.wording import kind_of

Redact = Callable[[str], str | None]
OnFull = Literal["drop_newest", "raise"]
Engine = Literal["auto", "httpcore", "httpcore2", "aiohttp"]

MAX_DURATION_S = 1e9  # about 32 years: a longer wait is a mistake, and more than a timer takes
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


def check(is_allowed: bool, name: str, value: object, allowed: str) -> None:
    """Raise a `ConfigurationError` that names the field and what is allowed, unless `is_allowed`."""
    if not is_allowed:
        raise ConfigurationError(f"{name} must be {allowed}, not {_shown(value)}")


def check_kind(is_allowed: bool, name: str, value: object, allowed: str) -> None:
    """As `check`, for a value that may hold a secret: only its type is named."""
    if not is_allowed:
        what = "this text (which is not shown)" if isinstance(value, str) else kind_of(value)
        raise ConfigurationError(f"{name} must be {allowed}, not {what}")


def _shown(value: object) -> str:
    if isinstance(value, str):
        return masked(value) if "://" in value or "@" in value else repr(value)
    try:
        return repr(value)
    except ValueError:
        return "a number too long to show"


def _listed(words: tuple[str, ...]) -> str:
    return f"one of {', '.join(words)}"


def _between(value: object, least: float, most: float) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return least <= value <= most  # false for NaN, and exact for any whole number


def _positive(name: str, value: object) -> None:
    check(_between(value, math.ulp(0.0), 1e300), name, value, "a finite number above 0")


def _duration(name: str, value: object, least: float = math.ulp(0.0)) -> None:
    allowed = f"a number of seconds {'from 0 up' if least == 0 else 'above 0'}"
    if _between(value, MAX_DURATION_S, math.inf):
        allowed = f"a number of seconds, at most {MAX_DURATION_S:,.0f}"
    check(_between(value, least, MAX_DURATION_S), name, value, allowed)


def _share(name: str, value: object) -> None:
    check(_between(value, 0, 1), name, value, "a number from 0 to 1")


def _count(name: str, value: object, least: int = 1) -> None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= least
    check(is_count, name, value, f"a whole number from {least} up")


def _boolean(name: str, value: object) -> None:
    check(isinstance(value, bool), name, value, "True or False")


def _name(name: str, value: object) -> None:
    is_text = isinstance(value, str) and bool(value.strip())
    check(value is None or is_text, name, value, "a text that is not empty")


@dataclass(frozen=True, slots=True)
class RecallPolicy:
    """What a recall may cost and what it may bring back."""

    budget_s: float = 1.2
    search_budget_s: float = 5.0
    top_k: int = 5
    min_prompt_chars: int = 8
    min_score: float | None = None
    max_prompt_chars: int = 4_000
    max_context_chars: int = 8_000

    def __post_init__(self) -> None:
        _duration("budget_s", self.budget_s)
        _duration("search_budget_s", self.search_budget_s)
        _count("top_k", self.top_k)
        _count("min_prompt_chars", self.min_prompt_chars, 0)
        if self.min_score is not None:
            _share("min_score", self.min_score)
        _count("max_prompt_chars", self.max_prompt_chars)
        _count("max_context_chars", self.max_context_chars)


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """When an account's circuit opens, and for how long."""

    failure_share: float = 0.5
    window_s: float = 10.0
    min_calls: int = 10
    consecutive_timeouts: int = 3
    min_timeout_budget_s: float = 0.5
    min_timeout_p50_multiple: float = 4.0
    open_s: float = 5.0
    max_open_s: float = 10.0
    jitter_share: float = 0.1

    def __post_init__(self) -> None:
        _share("failure_share", self.failure_share)
        for name in ("window_s", "min_timeout_budget_s", "open_s", "max_open_s"):
            _duration(name, getattr(self, name))
        _positive("min_timeout_p50_multiple", self.min_timeout_p50_multiple)
        check(self.max_open_s >= self.open_s, "max_open_s", self.max_open_s, "at least open_s")
        _count("min_calls", self.min_calls)
        _count("consecutive_timeouts", self.consecutive_timeouts)
        _share("jitter_share", self.jitter_share)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When a recall is tried a second time: a token bucket, and the least time a retry is worth."""

    capacity: int = 500
    transient_cost: int = 14
    throttling_cost: int = 5
    success_refund: int = 1
    min_remaining_s: float = 0.1

    def __post_init__(self) -> None:
        for name in ("capacity", "transient_cost", "throttling_cost"):
            _count(name, getattr(self, name))
        _count("success_refund", self.success_refund, 0)
        _duration("min_remaining_s", self.min_remaining_s, 0)


@dataclass(frozen=True, slots=True)
class PermitPolicy:
    """How many recalls of an account may be in flight, and how much of the budget a free one is worth."""

    recalls: int = 128
    wait_share: float = 0.1

    def __post_init__(self) -> None:
        _count("recalls", self.recalls)
        _share("wait_share", self.wait_share)


@dataclass(frozen=True, slots=True)
class WritePolicy:
    """How the drain delivers."""

    max_in_flight: int = 8
    initial_in_flight: int = 4
    attempt_budget_s: float = 5.0
    backoff_initial_s: float = 0.25
    backoff_max_s: float = 300.0
    retry_after_max_s: float = 3_600.0
    credentials_recheck_s: float = 60.0
    quota_recheck_s: float = 60.0
    max_age_s: float = 7 * 86_400.0
    poison_attempts: int = 8
    max_parked_share: float = 0.5
    max_parked_age_s: float = 32 * 86_400.0
    recall_yield_s: float = 0.05
    exit_drain_s: float = 5.0

    def __post_init__(self) -> None:
        for name in (
            "attempt_budget_s",
            "backoff_initial_s",
            "backoff_max_s",
            "retry_after_max_s",
            "credentials_recheck_s",
            "quota_recheck_s",
            "max_age_s",
            "max_parked_age_s",
        ):
            _duration(name, getattr(self, name))
        for name in ("max_in_flight", "initial_in_flight", "poison_attempts"):
            _count(name, getattr(self, name))
        check(
            self.initial_in_flight <= self.max_in_flight,
            "initial_in_flight",
            self.initial_in_flight,
            "at most max_in_flight",
        )
        _share("max_parked_share", self.max_parked_share)
        for name in ("recall_yield_s", "exit_drain_s"):
            _duration(name, getattr(self, name), 0)


@dataclass(frozen=True, slots=True)
class OutboxPolicy:
    """Where accepted writes wait, and how many may; how often what other processes left on disk is looked for."""

    url: str = MEMORY
    max_writes: int = 10_000
    max_bytes: int = 32 * 1024 * 1024
    on_full: OnFull = "drop_newest"
    max_dead_letters: int = 10_000
    dead_letter_max_age_s: float = 30 * 86_400.0
    adopt_interval_s: float = 30.0
    log_interval_s: float = 60.0

    def __post_init__(self) -> None:
        place_of(self.url)
        _count("max_writes", self.max_writes)
        _count("max_bytes", self.max_bytes)
        _count("max_dead_letters", self.max_dead_letters)
        for name in ("dead_letter_max_age_s", "adopt_interval_s", "log_interval_s"):
            _duration(name, getattr(self, name))
        check(self.on_full in get_args(OnFull), "on_full", self.on_full, _listed(get_args(OnFull)))


@dataclass(frozen=True, slots=True)
class NetworkPolicy:
    """How the HTTP core reaches a service.

    Attributes:
        proxy: proxy URL; None = HTTPS_PROXY and friends decide; "" = no proxy.
        verify: True (system and SSL_CERT_FILE), a CA file path, or an SSLContext.
        cert: client certificate: a path, or (certificate, key) or (certificate, key, password).
        headers: sent with every request, after ours.
        keepalive_s: an idle connection older than this is not used again.
        max_response_bytes: a larger body is a `ResponseFormatError`.
        propagate: send traceparent and tracestate.
        transport: an httpx.AsyncBaseTransport of the caller's own, with a weaker deadline; None = ours.
        engine: what ours is built on: "httpcore", its fork "httpcore2", "aiohttp" (the extra `fast`), or "auto",
            which is httpcore, the quickest.
    """

    proxy: str | None = field(default=None, repr=False)
    verify: bool | str | os.PathLike[str] | ssl.SSLContext = True
    cert: str | tuple[str, ...] | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    keepalive_s: float = 50.0
    max_response_bytes: int = 2 * 1024 * 1024
    propagate: bool = True
    transport: object | None = None
    engine: Engine = "auto"

    def __post_init__(self) -> None:
        if isinstance(self.verify, os.PathLike):
            object.__setattr__(self, "verify", os.fspath(self.verify))
        check(self.engine in get_args(Engine), "engine", self.engine, _listed(get_args(Engine)))
        _duration("keepalive_s", self.keepalive_s)
        _count("max_response_bytes", self.max_response_bytes)
        _boolean("propagate", self.propagate)
        allowed = "a mapping of text to text, of names that are not empty and without line breaks"
        check_kind(are_headers(self.headers), "headers", self.headers, allowed)
        self._check_proxy()
        self._check_tls()

    def _check_proxy(self) -> None:
        is_proxy = self.proxy is None or self.proxy == "" or url_parts(self.proxy) is not None
        check_kind(is_proxy, "proxy", self.proxy, "an http:// or https:// URL, or empty for none")

    def _check_tls(self) -> None:
        is_verify = exists(self.verify) or isinstance(self.verify, bool | ssl.SSLContext)
        allowed = "True, False, a CA file or directory that exists, or an SSLContext"
        check(is_verify, "verify", self.verify, allowed)
        parts = self.cert if isinstance(self.cert, tuple) else (self.cert,)
        is_cert = 0 < len(parts) < 4 and all(isinstance(part, str) and part for part in parts[:2])
        is_cert = is_cert and all(isinstance(part, str) for part in parts[2:])
        allowed = "a path, or a tuple of certificate, key and password, each text"
        check_kind(self.cert is None or is_cert, "cert", self.cert, allowed)

    @property
    def route(self) -> str:
        """What connections depend on beside the address, for the account key; empty where all is default."""
        verify = self.verify if isinstance(self.verify, bool | str) else id(self.verify)
        is_default = verify is True and self.cert is None and self.proxy is None
        return "" if is_default else repr((verify, self.cert, self.proxy))


@dataclass(frozen=True, slots=True)
class WatchdogPolicy:
    """When work that outlives its deadline costs a client its place."""

    grace_s: float = 1.0
    max_lag_s: float = 0.2
    min_interval_s: float = 60.0
    retire_after_s: float = 30.0

    def __post_init__(self) -> None:
        for name in ("grace_s", "max_lag_s", "retire_after_s"):
            _duration(name, getattr(self, name))
        _duration("min_interval_s", self.min_interval_s, 0)


@dataclass(frozen=True, slots=True)
class Switches:
    """What MEMOTEL_DISABLED turned off."""

    recall: bool = False
    writes: bool = False

    @property
    def is_all_off(self) -> bool:
        """Whether nothing is left to do, so that no credential is needed."""
        return self.recall and self.writes


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Everything a `MemoryClient` needs to know, complete and checked."""

    provider: Provider
    adapter: Adapter
    base_url: str
    credential: Credential | None = None
    project_id: str | None = None
    account_label: str | None = None
    recall: RecallPolicy = field(default_factory=RecallPolicy)
    breaker: BreakerPolicy = field(default_factory=BreakerPolicy)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    permits: PermitPolicy = field(default_factory=PermitPolicy)
    writes: WritePolicy = field(default_factory=WritePolicy)
    outbox: OutboxPolicy = field(default_factory=OutboxPolicy)
    network: NetworkPolicy = field(default_factory=NetworkPolicy)
    watchdog: WatchdogPolicy = field(default_factory=WatchdogPolicy)
    switches: Switches = field(default_factory=Switches)
    redact: Redact | None = None
    record_session_id: bool = True
    allow_insecure_http: bool = False

    def __post_init__(self) -> None:
        _boolean("record_session_id", self.record_session_id)
        _boolean("allow_insecure_http", self.allow_insecure_http)
        _name("project_id", self.project_id)
        _name("account", self.account_label)
        transport = self.network.transport
        is_transport = transport is None or hasattr(transport, "handle_async_request")
        check_kind(is_transport, "transport", transport, "an object with handle_async_request")
        is_redact = self.redact is None or callable(self.redact)
        check(is_redact, "redact", self.redact, "a function of a text")
        self._check_url()
        has_auth = self.credential is not None or bool(self.network.headers)
        if not has_auth and not self.switches.is_all_off:
            raise ConfigurationError(missing_credential(self.provider))

    def _check_url(self) -> None:
        name = "api_url" if self.provider is Provider.REKALL else "base_url"
        parts = url_parts(self.base_url)
        if parts is None or "@" in parts.netloc or not set("?#").isdisjoint(self.base_url):
            url: object = self.base_url
            shown = masked(url) if isinstance(url, str) else kind_of(url)
            allowed = "a host, no user information, query or fragment, and a valid port if any"
            raise ConfigurationError(
                f"{name} must be an http:// or https:// URL, not {shown} ({allowed})"
            )
        is_safe = parts.scheme == "https" or parts.hostname in LOOPBACK_HOSTS
        if not (is_safe or self.allow_insecure_http):
            raise ConfigurationError(
                f"{name} must be https:// (keys would travel in clear text), "
                "http:// to loopback, or set allow_insecure_http=True"
            )

    @property
    def account(self) -> str:
        """The account key: a hash of service, place, TLS, proxy and who (the label or the credential)."""
        if self.account_label is not None:
            who = f"label:{self.account_label}"
        else:
            source = self.credential.source if self.credential else ""
            headers = sorted(self.network.headers.items())
            who = "\x1e".join((source, *(f"{k.lower()}:{v}" for k, v in headers)))
        source = "\x1d".join((self.provider, self.network.route, who))
        return account_key(self.base_url, self.project_id, source)


KEY_SETTINGS = {
    Provider.MEMORYSYNC: "api_key= or MEMORYSYNC_API_KEY",
    Provider.REKALL: "api_key= or REKALL_API_KEY",
}
"""The settings that hold a service's credential, as messages name them."""


def missing_credential(provider: Provider) -> str:
    """Say which settings give a credential; the whole message."""
    return f"a credential must be given: {KEY_SETTINGS[provider]} (or api_key_file=, headers=)"
