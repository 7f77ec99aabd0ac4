"""The tracer, the histograms and the observable instruments of one process.

Instruments stand on the global providers unless others are given: the API's proxies find a provider that an
application sets later. Observable instruments read plain integers, so a fork resets them; histograms cannot be reset.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import metadata

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.metrics import Histogram, Meter, MeterProvider
from opentelemetry.trace import TracerProvider

from memotel import runtime
from memotel.counts import Counts
from memotel.outcomes import Adapter, Provider
from memotel.telemetry import conservation, names
from memotel.telemetry.guard import guarded, logger
from memotel.telemetry.observables import Snapshots, observe

Attributes = Mapping[str, str | int]
_SETS = 256
"""More than there are label sets of one histogram; they come from closed enums."""


class Instruments:
    """One tracer and one set of instruments, on the global providers unless others are given."""

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        counts: Callable[[], Counts] | None = None,
    ) -> None:
        self._snapshots = Snapshots(counts or (lambda: runtime.current().counts))
        self._version = _version()
        self.has_recorded = False
        self.use_tracers(tracer_provider)
        self.use_meters(meter_provider)

    def use_tracers(self, provider: TracerProvider | None) -> None:
        """Start spans with this provider from now on; None = the global one."""
        self.tracer = trace.get_tracer(names.SCOPE, self._version, provider)

    def use_meters(self, provider: MeterProvider | None) -> None:
        """Create the instruments on this provider and record there from now on; None = the global one."""
        meter = metrics.get_meter(names.SCOPE, self._version, provider)
        self._recall = _histogram(meter, names.RECALL_DURATION)
        self._write_delay = _histogram(meter, names.WRITE_DELAY)
        self._gen_ai = _histogram(meter, names.GEN_AI_DURATION)
        self._http = _histogram(meter, names.HTTP_DURATION)
        observe(meter, self._snapshots, self._version)

    def record_recall(
        self, seconds: float, labels: tuple[str, str, str], context: Context | None
    ) -> None:
        """Record how long a recall took; labels: provider, adapter, outcome."""
        self.has_recorded = True
        self._recall.record(seconds, _recall_labels(*labels), context)

    def record_write_delay(
        self, seconds: float, provider: str, outcome: str, context: Context | None = None
    ) -> None:
        """Record the time from acceptance to the final outcome of a write."""
        self.has_recorded = True
        self._write_delay.record(seconds, _write_labels(provider, outcome), context)

    def record_operation(
        self, seconds: float, attributes: Attributes, context: Context | None
    ) -> None:
        """Record `gen_ai.client.operation.duration`."""
        self.has_recorded = True
        self._gen_ai.record(seconds, attributes, context)

    def record_http(self, seconds: float, attributes: Attributes, context: Context | None) -> None:
        """Record `http.client.request.duration`."""
        self.has_recorded = True
        self._http.record(seconds, attributes, context)


@lru_cache(_SETS)
def _recall_labels(provider: str, adapter: str, outcome: str) -> dict[str, str]:
    return {"provider": str(provider), "adapter": str(adapter), "outcome": str(outcome)}


@lru_cache(_SETS)
def _write_labels(provider: str, outcome: str) -> dict[str, str]:
    return {"provider": str(provider), "outcome": str(outcome)}


def _histogram(meter: Meter, instrument: names.Instrument) -> Histogram:
    return meter.create_histogram(
        instrument.name,
        instrument.unit,
        instrument.description,
        explicit_bucket_boundaries_advisory=instrument.bounds,
    )


def _version() -> str:
    try:
        return metadata.version("memotel")
    except metadata.PackageNotFoundError:
        return "unknown"


class _Process:
    """The instruments of this process, and the clients whose series a forked child must declare again."""

    def __init__(self) -> None:
        self.instruments: Instruments | None = None
        self.clients: set[tuple[Provider, Adapter]] = set()

    def after_fork(self) -> None:
        counts = runtime.current().counts
        for provider, adapter in self.clients:
            conservation.declare_client(counts, provider, adapter)
        _warn_of_inherited(self.instruments)


def _warn_of_inherited(instruments: Instruments | None) -> None:
    is_real = type(metrics.get_meter_provider()).__module__.startswith("opentelemetry.sdk")
    if instruments is not None and instruments.has_recorded and is_real:
        instruments.has_recorded = False
        logger.warning(
            "telemetry was recorded before a fork, and histograms cannot be reset; set it up in the forked "
            "process (memotel.telemetry.setup() in gunicorn's post_fork)"
        )


_process = _Process()


def install() -> Instruments:
    """Return the instruments of this process, created by the first call. Thread-safe."""
    with runtime.current().lock:
        if _process.instruments is None:
            _process.instruments = Instruments()
            runtime.on_fork(guarded(_process.after_fork))
        return _process.instruments


def declare_client(counts: Counts, provider: Provider, adapter: Adapter) -> None:
    """Make every series of a built client exist at zero, in this process and in its forked children."""
    conservation.declare_client(counts, provider, adapter)
    if counts is runtime.current().counts:
        _process.clients.add((provider, adapter))
