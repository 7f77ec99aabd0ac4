"""Is anybody listening? What this process and its environment say about where telemetry goes. Starts nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from opentelemetry import metrics, trace

DEFAULT_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Wiring:
    """Where telemetry goes.

    Attributes:
        is_disabled: OTEL_SDK_DISABLED is true.
        has_sdk: the OpenTelemetry SDK is installed.
        has_prometheus: prometheus_client is installed.
        has_otlp: the OTLP exporter over HTTP is installed.
        has_tracers: this process has a tracer provider that is not the API's own.
        has_meters: the same of meters.
        prometheus_host: where the metrics endpoint would listen.
        prometheus_port: the port that the environment asks for, as it stands there; empty for none.
        otlp_endpoint: where OTLP goes; empty for nowhere.
        otlp_protocol: the protocol that the environment asks for, or empty.
    """

    is_disabled: bool
    has_sdk: bool
    has_prometheus: bool
    has_otlp: bool
    has_tracers: bool
    has_meters: bool
    prometheus_host: str
    prometheus_port: str
    otlp_endpoint: str
    otlp_protocol: str

    @property
    def is_exporting(self) -> bool:
        """Whether anything takes what memotel records, as far as is seen from here."""
        has_provider = self.has_tracers or self.has_meters
        return bool(has_provider or self.prometheus_port or self.otlp_endpoint)


def wiring(environ: Mapping[str, str]) -> Wiring:
    """Read the environment and the global providers."""

    def variable(*names: str) -> str:
        return next((text for name in names if (text := environ.get(name, "").strip())), "")

    return Wiring(
        is_disabled=variable("OTEL_SDK_DISABLED").lower() == "true",
        has_sdk=_is_there("opentelemetry.sdk"),
        has_prometheus=_is_there("prometheus_client"),
        has_otlp=_is_there("opentelemetry.exporter.otlp.proto.http"),
        has_tracers=not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider),
        has_meters=not type(metrics.get_meter_provider()).__module__.startswith(
            "opentelemetry.metrics"
        ),
        prometheus_host=variable("OTEL_EXPORTER_PROMETHEUS_HOST") or DEFAULT_HOST,
        prometheus_port=variable("OTEL_EXPORTER_PROMETHEUS_PORT"),
        otlp_endpoint=variable(
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        ),
        otlp_protocol=variable("OTEL_EXPORTER_OTLP_PROTOCOL"),
    )


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # the package above it is missing
        return False
