"""The Prometheus endpoint of one process: a listener on loopback, and the file that tells Prometheus where it is.

Needs the `prometheus` extra. A forked child closes what it inherited and serves nothing until it starts its own.
"""

import atexit
import errno
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from wsgiref.simple_server import WSGIServer

from prometheus_client import REGISTRY, CollectorRegistry

from memotel import runtime
from memotel.config import check
from memotel.errors import ConfigurationError
from memotel.settings import read_environment
from memotel.telemetry.exposition import PrometheusReader
from memotel.telemetry.serving import start_server

HOST_VARIABLE = "OTEL_EXPORTER_PROMETHEUS_HOST"
PORT_VARIABLE = "OTEL_EXPORTER_PROMETHEUS_PORT"
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 9464
_WILDCARDS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 # recognised here, bound only if asked for


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. Port 0 takes a free one."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT

    def __post_init__(self) -> None:
        is_port = type(self.port) is int  # neither True nor a string
        check(
            is_port and 0 <= self.port <= 65_535,
            "prometheus_port",
            self.port,
            "a port from 0 to 65535",
        )


def chosen_address(
    port: int | None, host: str | None, environ: Mapping[str, str] | None = None
) -> Address | None:
    """Return where to listen: arguments first, then the variables; None where neither names a port."""
    env = environ if environ is not None else read_environment()
    if port is None:
        port = _port_from(env)
    return None if port is None else Address(host or env.get(HOST_VARIABLE) or DEFAULT_HOST, port)


def _port_from(env: Mapping[str, str]) -> int | None:
    text = env.get(PORT_VARIABLE, "").strip()
    if not text:
        return None
    check(text.isdecimal(), PORT_VARIABLE, text, "a port from 0 to 65535")
    return int(text)


class Endpoint:
    """A listener that serves a registry at /metrics until it is closed. Raises `ConfigurationError` if it cannot."""

    def __init__(
        self,
        address: Address,
        registry: CollectorRegistry = REGISTRY,
        targets_file: Path | None = None,
    ) -> None:
        self.host = address.host
        self._server = _listen(address, registry)
        self.port = int(self._server.server_port)
        self._pid = os.getpid()
        self._targets_file: Path | None = None
        if targets_file is not None:
            try:
                self._announce(targets_file)
                self._targets_file = targets_file
            except OSError as error:
                self.close()
                raise ConfigurationError(
                    f"targets_file must be a path that can be written, not {str(targets_file)!r} ({error.strerror})"
                ) from error
            atexit.register(self._withdraw)
        runtime.on_fork(self._forget)

    def _announce(self, path: Path) -> None:
        """Write the file for Prometheus' file_sd, whole or not at all."""
        host = DEFAULT_HOST if self.host in _WILDCARDS else self.host
        host = f"[{host}]" if ":" in host else host
        fresh = path.with_name(f".{path.name}.{self._pid}")
        try:
            fresh.write_text(
                json.dumps([{"targets": [f"{host}:{self.port}"], "labels": {}}]) + "\n"
            )
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)

    def close(self) -> None:
        """Stop serving and take the targets file away. Idempotent; does nothing in a forked child."""
        if os.getpid() != self._pid:
            return
        self._withdraw()
        atexit.unregister(self._withdraw)
        self._pid = -1
        self._server.shutdown()
        self._server.server_close()

    def _withdraw(self) -> None:
        """Take the targets file away, at the exit of the process that wrote it."""
        if self._targets_file is not None and os.getpid() == self._pid:
            self._targets_file.unlink(missing_ok=True)

    def _forget(self) -> None:
        """Close the inherited listener in a forked child; its thread did not come along."""
        if self._pid != -1:
            self._pid = -1
            self._server.socket.close()


def _listen(address: Address, registry: CollectorRegistry) -> WSGIServer:
    try:
        return start_server(address.host, address.port, registry)
    except OSError as error:
        raise ConfigurationError(_complaint(address, error)) from error


def _complaint(address: Address, error: OSError) -> str:
    where = f"{address.host}:{address.port}"
    if error.errno == errno.EADDRINUSE:
        return (
            f"prometheus_port {address.port} is taken ({where}); "
            "choose another one, or 0 for a free one"
        )
    return f"prometheus_host and prometheus_port cannot be bound ({where}): {error.strerror or 'unknown host'}"


class EndpointReader(PrometheusReader):
    """The reader with its own endpoint, for `OTEL_METRICS_EXPORTER=memotel_prometheus`."""

    def __init__(self) -> None:
        env = read_environment()
        address = chosen_address(None, None, env) or Address(env.get(HOST_VARIABLE) or DEFAULT_HOST)
        self._endpoint = Endpoint(address)
        super().__init__()

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: object) -> None:
        """Stop serving."""
        self._endpoint.close()
        super().shutdown(timeout_millis, **kwargs)
