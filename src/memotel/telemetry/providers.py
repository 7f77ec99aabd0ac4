"""The SDK's providers, put together as the arguments and the OTEL_ variables say. Needs the SDK."""

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader
from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, SERVICE_NAME, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

from memotel.errors import ConfigurationError
from memotel.telemetry.handle import TelemetryHandle, Wishes

if TYPE_CHECKING:
    from memotel.telemetry.endpoint import Endpoint

RESOURCE_VARIABLE = "OTEL_RESOURCE_ATTRIBUTES"
MISSING_PROMETHEUS = (
    'a Prometheus endpoint needs prometheus_client: pip install "memotel[prometheus]"'
)
MISSING_OTLP = 'OTEL_EXPORTER_OTLP_ENDPOINT asks for OTLP, which needs: pip install "memotel[otlp]"'
GRPC = (
    "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf (memotel[otlp] brings that exporter), not grpc; "
    "the collector's port for it is usually 4318"
)


def start(wishes: Wishes, env: Mapping[str, str]) -> TelemetryHandle:
    """Open the endpoint and build the providers; what was opened is closed again where something fails."""
    endpoint = _endpoint(wishes, env)
    try:
        readers, processors = _otlp(env)
        readers += _prometheus_readers(wishes, is_needed=not (readers or processors))
        resource = _resource(wishes, env)
        tracers = TracerProvider(resource=resource)
        for processor in processors:
            tracers.add_span_processor(processor)
        return TelemetryHandle(endpoint, tracers, MeterProvider(readers, resource))
    except BaseException:
        if endpoint is not None:
            endpoint.close()
        raise


def _endpoint(wishes: Wishes, env: Mapping[str, str]) -> "Endpoint | None":
    try:
        from prometheus_client import REGISTRY

        from memotel.telemetry.endpoint import Endpoint, chosen_address
    except ImportError as error:
        if wishes.prometheus_port is None:
            return None
        raise ConfigurationError(MISSING_PROMETHEUS) from error
    address = chosen_address(wishes.prometheus_port, wishes.prometheus_host, env)
    if address is None:
        return None
    return Endpoint(address, wishes.registry or REGISTRY, wishes.targets_file)


def _prometheus_readers(wishes: Wishes, *, is_needed: bool) -> list[MetricReader]:
    """Return our reader wherever prometheus_client is there: the endpoint and `metrics_app` show it."""
    try:
        from prometheus_client import REGISTRY

        from memotel.telemetry.exposition import PrometheusReader
    except ImportError as error:
        if is_needed:
            raise ConfigurationError(MISSING_PROMETHEUS) from error
        return []
    return [PrometheusReader(wishes.registry or REGISTRY)]


def _otlp(env: Mapping[str, str]) -> tuple[list[MetricReader], list[SpanProcessor]]:
    has_traces, has_metrics = _wants_otlp(env, "TRACES"), _wants_otlp(env, "METRICS")
    if not (has_traces or has_metrics):
        return [], []
    try:
        from memotel.telemetry import otlp
    except ImportError as error:
        raise ConfigurationError(MISSING_OTLP) from error
    readers = [otlp.metric_reader()] if has_metrics else []
    return readers, [otlp.span_processor()] if has_traces else []


def _wants_otlp(env: Mapping[str, str], signal: str) -> bool:
    """Whether an endpoint is set for this signal, and its exporter is not switched off."""
    general, own = "OTEL_EXPORTER_OTLP_", f"OTEL_EXPORTER_OTLP_{signal}_"
    has_endpoint = bool(env.get(f"{own}ENDPOINT") or env.get(f"{general}ENDPOINT"))
    is_off = env.get(f"OTEL_{signal}_EXPORTER", "").strip().lower() == "none"
    if not has_endpoint or is_off:
        return False
    if (env.get(f"{own}PROTOCOL") or env.get(f"{general}PROTOCOL") or "").strip() == "grpc":
        raise ConfigurationError(GRPC)
    return True


def _resource(wishes: Wishes, env: Mapping[str, str]) -> Resource:
    given: dict[str, str] = {}
    if wishes.service_name is not None:
        given[SERVICE_NAME] = wishes.service_name
    if f"{SERVICE_INSTANCE_ID}=" not in env.get(RESOURCE_VARIABLE, ""):
        given[SERVICE_INSTANCE_ID] = str(uuid.uuid4())
    return Resource.create(given)
