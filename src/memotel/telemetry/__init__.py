"""Telemetry: spans, metrics, and the set-up for applications that have none of their own.

`setup` starts the SDK with a Prometheus endpoint and OTLP; `metrics_app` is an ASGI application to mount. An
application with its own OpenTelemetry set-up needs neither.
"""

from memotel.telemetry.handle import TelemetryHandle
from memotel.telemetry.sdk import metrics_app, setup

__all__ = ["TelemetryHandle", "metrics_app", "setup"]
