"""What an application asks `setup` for, and what it gets back."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memotel.telemetry.guard import guarded

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    from prometheus_client import CollectorRegistry

    from memotel.telemetry.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Wishes:
    """What `setup` was asked for."""

    service_name: str | None
    prometheus_port: int | None
    prometheus_host: str | None
    targets_file: Path | None
    registry: "CollectorRegistry | None"


class TelemetryHandle:
    """What `setup` started. `port` and `host` are None where there is no endpoint of its own."""

    def __init__(
        self,
        endpoint: "Endpoint | None" = None,
        tracers: "TracerProvider | None" = None,
        meters: "MeterProvider | None" = None,
    ) -> None:
        self.pid = os.getpid()
        self.tracer_provider = tracers
        self.meter_provider = meters
        self._endpoint = endpoint
        self.is_running = True

    @property
    def host(self) -> str | None:
        """The address that the endpoint listens on."""
        return self._endpoint.host if self._endpoint else None

    @property
    def port(self) -> int | None:
        """The port that the endpoint listens on; the real one where 0 was asked for."""
        return self._endpoint.port if self._endpoint else None

    def shutdown(self) -> None:
        """Close the endpoint, then send what OTLP still holds. Idempotent; does nothing in a forked child."""
        if not self.is_running or self.pid != os.getpid():
            return
        self.is_running = False
        if self._endpoint:
            self._endpoint.close()
        for provider in (self.tracer_provider, self.meter_provider):
            if provider is not None:
                guarded(provider.shutdown)()
