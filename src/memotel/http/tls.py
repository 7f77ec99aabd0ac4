"""TLS settings to SSLContexts: one per setting and process, built on a thread, since reading CA files takes 15 to 45 ms."""

import os
import ssl
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import httpcore

from memotel.config import NetworkPolicy
from memotel.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class TlsSetting:
    """What decides what is trusted and who we are.

    Attributes:
        verify: whether certificates are checked at all.
        ca_path: a CA file or directory that replaces the system's; "" = the system's and certifi's.
        cert: client certificate: (certificate), (certificate, key) or (certificate, key, password); empty = none.
    """

    verify: bool
    ca_path: str = ""
    cert: tuple[str, ...] = ()


def tls_setting(policy: NetworkPolicy, environ: Mapping[str, str]) -> TlsSetting:
    """Return the TLS setting of a policy whose `verify` is no SSLContext."""
    cert = (policy.cert,) if isinstance(policy.cert, str) else policy.cert or ()
    if isinstance(policy.verify, str):
        return TlsSetting(True, policy.verify, cert)
    if not policy.verify:
        return TlsSetting(False, "", cert)
    ca_path = environ.get("SSL_CERT_FILE") or environ.get("SSL_CERT_DIR") or ""
    return TlsSetting(True, ca_path, cert)


def build_context(setting: TlsSetting) -> ssl.SSLContext:
    """Build the context of a setting; blocks. Raises `ConfigurationError` where a file cannot be used."""
    try:
        context = _trusting(setting)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"verify (or SSL_CERT_FILE) names no readable CA file: {setting.ca_path} ({type(error).__name__})"
        ) from None
    try:
        if setting.cert:
            context.load_cert_chain(*setting.cert)
    except (OSError, ssl.SSLError, TypeError) as error:
        raise ConfigurationError(
            f"cert cannot be used: {setting.cert[0]} ({type(error).__name__})"
        ) from None
    return context


def _trusting(setting: TlsSetting) -> ssl.SSLContext:
    if not setting.verify:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if not setting.ca_path:
        return httpcore.default_ssl_context()
    if Path(setting.ca_path).is_dir():
        return ssl.create_default_context(capath=setting.ca_path)
    return ssl.create_default_context(cafile=setting.ca_path)


class ContextShelf:
    """Contexts by setting, each built once by whoever asks first. Thread-safe; a failure is not kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[TlsSetting, Future[ssl.SSLContext]] = {}

    def flight(self, setting: TlsSetting) -> "Future[ssl.SSLContext]":
        """Return the context of `setting`, built or under way."""
        with self._lock:
            flight = self._flights.get(setting)
            if flight is not None:
                return flight
            flight = self._flights[setting] = Future()
        try:
            self._launch(setting, flight)
        except RuntimeError:
            self._build(setting, flight)  # the interpreter is exiting and starts no more threads
        return flight

    def _launch(self, setting: TlsSetting, flight: "Future[ssl.SSLContext]") -> None:
        threading.Thread(
            target=self._build, args=(setting, flight), name="memotel-tls", daemon=True
        ).start()

    def _build(self, setting: TlsSetting, flight: "Future[ssl.SSLContext]") -> None:
        try:
            context = build_context(setting)
        except Exception as error:  # noqa: BLE001 # whoever waits for the flight must hear of it
            with self._lock:
                self._flights.pop(setting, None)
            flight.set_exception(error)
        else:
            flight.set_result(context)


class _Shared:
    """The shelf of this process; a forked child starts an empty one, for a build may have been under way."""

    def __init__(self) -> None:
        self.shelf = ContextShelf()

    def renew(self) -> None:
        self.shelf = ContextShelf()


_shared = _Shared()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.renew)


def context_flight(policy: NetworkPolicy, environ: Mapping[str, str]) -> "Future[ssl.SSLContext]":
    """Return the context for a policy: the caller's own, or the process's for that setting, perhaps under way."""
    if isinstance(policy.verify, ssl.SSLContext):
        if policy.cert:
            raise ConfigurationError(
                "cert cannot be given beside an SSLContext; load it into the context"
            )
        flight: Future[ssl.SSLContext] = Future()
        flight.set_result(policy.verify)
        return flight
    return _shared.shelf.flight(tls_setting(policy, environ))
