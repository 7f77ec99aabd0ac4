"""`setup`: the OpenTelemetry SDK, a Prometheus endpoint and OTLP, for an application that has none of these.

Nothing here is called by an import, and the SDK is imported only when `setup` runs.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from opentelemetry import metrics, trace
from opentelemetry.metrics import NoOpMeterProvider

from memotel import runtime
from memotel.config import check
from memotel.errors import ConfigurationError
from memotel.settings import read_environment
from memotel.telemetry.guard import guarded
from memotel.telemetry.handle import TelemetryHandle, Wishes
from memotel.telemetry.instruments import install

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from memotel.telemetry.asgi import App

MISSING_SDK = 'telemetry.setup() needs the OpenTelemetry SDK: pip install "memotel[prometheus]"'
MISSING_PROMETHEUS = 'metrics_app() needs prometheus_client: pip install "memotel[prometheus]"'
FOREIGN_PROVIDER = (
    "this process has an OpenTelemetry provider already and memotel uses it; leave out telemetry.setup(), "
    "and for Prometheus with exemplars give your MeterProvider a memotel.telemetry.exposition.PrometheusReader()"
)


def setup(
    service_name: str | None = None,
    prometheus_port: int | None = None,
    prometheus_host: str | None = None,
    *,
    targets_file: str | Path | None = None,
    registry: "CollectorRegistry | None" = None,
) -> TelemetryHandle:
    """Set up OpenTelemetry for an application that has not: SDK, Prometheus endpoint, OTLP.

    Args:
        service_name: `service.name`; else OTEL_SERVICE_NAME.
        prometheus_port: where /metrics is served; 0 = a free port; None = OTEL_EXPORTER_PROMETHEUS_PORT, or no
            endpoint of its own (see `metrics_app`).
        prometheus_host: the address to listen on; else OTEL_EXPORTER_PROMETHEUS_HOST, else 127.0.0.1.
        targets_file: a file that tells Prometheus (file_sd) the endpoint; removed by `shutdown` and at exit.
        registry: a prometheus_client registry other than the default one.

    OTLP is on where OTEL_EXPORTER_OTLP_ENDPOINT (or its TRACES and METRICS forms) is set. Sampler, resource and
    exemplar filter follow the OTEL_ variables; OTEL_SDK_DISABLED=true makes this do nothing. Once per process: called
    again with the same arguments it returns the same handle. In a forked child, call it again.

    Raises `ConfigurationError`: a taken port, a missing extra, an application that has its own providers.
    """
    for name, text in (("service_name", service_name), ("prometheus_host", prometheus_host)):
        check(text is None or isinstance(text, str), name, text, "a text")
    is_path = targets_file is None or isinstance(targets_file, str | Path)
    check(is_path, "targets_file", targets_file, "a path that can be written")
    path = Path(targets_file) if targets_file is not None else None
    wishes = Wishes(service_name, prometheus_port, prometheus_host, path, registry)
    with runtime.current().lock:
        return _process.setup(wishes, read_environment())


def metrics_app(registry: "CollectorRegistry | None" = None) -> "App":
    """Return an ASGI application that serves the metrics; mount it where Prometheus may reach it.

    Call `setup()` as well, with no port. Raises `ConfigurationError` where prometheus_client is missing.
    """
    try:
        from prometheus_client import REGISTRY

        from memotel.telemetry.asgi import serve
    except ImportError as error:
        raise ConfigurationError(MISSING_PROMETHEUS) from error
    return serve(registry or REGISTRY)


class _Process:
    """What this process has set up."""

    def __init__(self) -> None:
        self.handle: TelemetryHandle | None = None
        self.wishes: Wishes | None = None
        self.has_set_globals = False

    def setup(self, wishes: Wishes, env: Mapping[str, str]) -> TelemetryHandle:
        running = self._running()
        if running is not None:
            if wishes != self.wishes:
                raise ConfigurationError(
                    "telemetry is set up already with other arguments; call shutdown() on its handle first"
                )
            return running
        if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
            return TelemetryHandle()
        if not self.has_set_globals and _has_foreign_provider():
            raise ConfigurationError(FOREIGN_PROVIDER)
        self.handle, self.wishes = _start(wishes, env), wishes
        self._publish(self.handle)
        return self.handle

    def _running(self) -> TelemetryHandle | None:
        handle = self.handle
        is_ours = handle is not None and handle.pid == os.getpid() and handle.is_running
        return handle if is_ours else None

    def _publish(self, handle: TelemetryHandle) -> None:
        """Make the providers the global ones; where that was done before (a fork, a shutdown), only memotel's."""
        instruments = install()
        if handle.tracer_provider is None or handle.meter_provider is None:
            return
        if self.has_set_globals:
            instruments.use_tracers(handle.tracer_provider)
            instruments.use_meters(handle.meter_provider)
            return
        self.has_set_globals = True
        trace.set_tracer_provider(handle.tracer_provider)
        metrics.set_meter_provider(handle.meter_provider)
        runtime.on_fork(guarded(_leave_inherited_meters))


def _leave_inherited_meters() -> None:
    """Record nothing into the parent's histograms in a forked child; nobody collects them here."""
    install().use_meters(NoOpMeterProvider())


_process = _Process()


def _has_foreign_provider() -> bool:
    is_default = isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    meters = type(metrics.get_meter_provider()).__module__
    return not is_default or not meters.startswith("opentelemetry.metrics")


def _start(wishes: Wishes, env: Mapping[str, str]) -> TelemetryHandle:
    try:
        from memotel.telemetry.providers import start
    except ImportError as error:
        raise ConfigurationError(MISSING_SDK) from error
    return start(wishes, env)
