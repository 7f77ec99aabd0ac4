"""Does anything take the telemetry, and can it reach it?"""

from collections.abc import Iterator

from memotel.config import LOOPBACK_HOSTS
from memotel.doctor.findings import Finding, Level, Topic
from memotel.doctor.masking import without_userinfo
from memotel.telemetry.wiring import Wiring

NOBODY = (
    "nothing exports as far as the environment shows",
    "call memotel.telemetry.setup() in the application, or set OTEL_EXPORTER_PROMETHEUS_PORT",
)
DISABLED = ("OTEL_SDK_DISABLED is true: nothing is recorded", "unset OTEL_SDK_DISABLED")
NO_SDK = ("the OpenTelemetry SDK is not installed", 'pip install "memotel[prometheus]"')
NO_PROMETHEUS = ("prometheus_client is not installed", 'pip install "memotel[prometheus]"')
NO_OTLP = ("the OTLP exporter over HTTP is not installed", 'pip install "memotel[otlp]"')
GRPC = (
    "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, which memotel.telemetry.setup() refuses",
    "set it to http/protobuf and take the collector's port for that, usually 4318",
)
LOOPBACK = (
    "the metrics endpoint listens on loopback inside a container: Prometheus cannot reach it",
    "set OTEL_EXPORTER_PROMETHEUS_HOST=0.0.0.0",
)


def check_wiring(found: Wiring, *, is_container: bool) -> Iterator[Finding]:
    """Say where telemetry goes, and what keeps it from getting there."""
    if found.is_disabled:
        yield _bad("OTEL_SDK_DISABLED", Level.WARNING, DISABLED)
    elif not found.is_exporting:
        yield _bad("", Level.WARNING, NOBODY)
    if (found.prometheus_port or found.otlp_endpoint) and not found.has_sdk:
        yield _bad("opentelemetry-sdk", Level.PROBLEM, NO_SDK)
    if found.has_tracers or found.has_meters:
        yield Finding(
            Topic.TELEMETRY,
            "providers",
            Level.OK,
            "this process has OpenTelemetry providers",
            data={"has_tracers": found.has_tracers, "has_meters": found.has_meters},
        )
    yield from _prometheus(found, is_container=is_container)
    yield from _otlp(found)


def _prometheus(found: Wiring, *, is_container: bool) -> Iterator[Finding]:
    if not found.prometheus_port:
        return
    if not found.has_prometheus:
        yield _bad("prometheus", Level.PROBLEM, NO_PROMETHEUS)
    elif is_container and found.prometheus_host in LOOPBACK_HOSTS:
        yield _bad("prometheus", Level.WARNING, LOOPBACK)
    else:
        where = f"{found.prometheus_host}:{found.prometheus_port}"
        yield Finding(Topic.TELEMETRY, "prometheus", Level.OK, f"metrics are served on {where}")


def _otlp(found: Wiring) -> Iterator[Finding]:
    if not found.otlp_endpoint:
        return
    if found.otlp_protocol == "grpc":
        yield _bad("otlp", Level.PROBLEM, GRPC)
    elif not found.has_otlp:
        yield _bad("otlp", Level.PROBLEM, NO_OTLP)
    else:
        where = without_userinfo(found.otlp_endpoint)
        yield Finding(Topic.TELEMETRY, "otlp", Level.OK, f"exported to {where}")


def _bad(subject: str, level: Level, words: tuple[str, str]) -> Finding:
    return Finding(Topic.TELEMETRY, subject, level, *words)
