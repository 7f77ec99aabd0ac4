"""One integration run with every outcome that can be provoked, and all that it told: spans, metrics, logs, requests.

Both services on a real development server, through the direct client and all four adapters. Each scenario has a session
of its own by which its spans are found, and a key of its own, so that no circuit, pause or quota reaches the next one.
"""

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from agent_turns import ADAPTERS, USER, Conversation
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, Metric
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from polling import eventually

from memotel import runtime
from memotel.client import MemoryClient
from memotel.config import BreakerPolicy, WritePolicy
from memotel.devserver import DevServer, Fault, QuotaMode, Service
from memotel.errors import MemotelError
from memotel.outcomes import Adapter, Provider, Speaker
from memotel.settings import resolve
from memotel.telemetry.instruments import install
from memotel.values import Scope, Turn

FACT = "hostile-words: my card is 4000 0000 0000 0002 and I drink green tea"
QUESTION = "hostile-words: which tea do I drink, and is my card 4000 0000 0000 0002?"
HOSTILE = ("hostile", "4000 0000 0000 0002", "user-ada")
BUDGET_S = 0.4
PATIENT_S = 20.0
QUICK = WritePolicy(backoff_initial_s=0.02, backoff_max_s=0.05, attempt_budget_s=5.0)
RECALL_FAULTS = {
    "timeout": Fault("hang", "recalls"),
    "unavailable": Fault("status", "recalls", status=500),
    "rate_limited": Fault("rate_limit", "recalls"),
    "quota": Fault("strict_quota", "recalls"),
    "rejected": Fault("status", "recalls", status=401),
    "malformed": Fault("malformed", "recalls"),
    "refused": Fault("reset", "recalls"),
}
"""What a recall meets, by the name of its scenario."""


@dataclass
class Observed:
    """What a run told."""

    spans: list[ReadableSpan] = field(default_factory=list)
    metrics: dict[str, Metric] = field(default_factory=dict)
    logs: list[logging.LogRecord] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    outcomes: dict[str, str] = field(default_factory=dict)
    addresses: set[tuple[str, int]] = field(default_factory=set)

    def of(self, scenario: str) -> list[ReadableSpan]:
        """Return the memory spans of a scenario, in the order that they ended."""
        return [s for s in self.spans if (s.attributes or {}).get(SESSION) == scenario]

    def attempts_of(self, span: ReadableSpan) -> list[ReadableSpan]:
        """Return the HTTP attempts under a span."""
        return [s for s in self.spans if s.parent and s.parent.span_id == _id(span)]

    def named(self, name: str) -> list[ReadableSpan]:
        """Return the spans of that name."""
        return [s for s in self.spans if s.name == name]


SESSION = "gen_ai.conversation.id"


def _id(span: ReadableSpan) -> int:
    return cast("trace.SpanContext", span.get_span_context()).span_id


class Records(logging.Handler):
    """Keeps every log record."""

    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__(logging.DEBUG)
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(record)


@contextmanager
def observing(observed: Observed) -> Iterator[TracerProvider]:
    """Have the process's instruments stand on providers of this run, and its log kept, while the block runs."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider((reader,), shutdown_on_exit=False)
    instruments, log = install(), logging.getLogger("memotel")
    handler, level = Records(observed.logs), log.level
    instruments.use_tracers(tracers)
    instruments.use_meters(meters)
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    token = context.attach(baggage.set_baggage("user.id", "hostile-baggage"))
    try:
        yield tracers
        observed.metrics = _collected(reader)
        observed.spans = list(exporter.get_finished_spans())
    finally:
        context.detach(token)
        log.removeHandler(handler)
        log.setLevel(level)
        instruments.use_tracers(None)
        instruments.use_meters(None)
        tracers.shutdown()
        meters.shutdown()


def _collected(reader: InMemoryMetricReader) -> dict[str, Metric]:
    data = reader.get_metrics_data()
    assert data is not None
    return {
        metric.name: metric
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


class Scenarios:
    """The scenarios of one service, on one server."""

    def __init__(
        self, provider: Provider, server: DevServer, observed: Observed, tracers: TracerProvider
    ) -> None:
        self.provider = provider
        self.server = server
        self._observed = observed
        self._tracer = tracers.get_tracer("application")

    def run(self) -> None:
        """Run them all."""
        for work in (
            self._recalls,
            self._explicit,
            self._writes,
            self._adapters,
            self._adapters_at_faults,
        ):
            work()

    def run_healthy(self) -> None:
        """Run those of a service that works: every kind of call, every adapter."""
        with self._scene("healthy", recall_timeout=PATIENT_S, search_timeout=PATIENT_S) as scene:
            scene.told()
            scene.save("save")
            scene.recall("hit")
            scene.search("search")
        self._adapters()

    @contextmanager
    def _scene(self, name: str, *faults: Fault, **settings: Any) -> Iterator["Scene"]:
        label = f"{self.provider}-{name}"
        with self._client(label, **settings) as client:
            for fault in faults:
                self.server.faults.add(fault)
            with self._tracer.start_as_current_span(f"turn {label}"):
                yield Scene(label, client, self._observed)
            self.server.faults.clear()
            client.flush(PATIENT_S)

    @contextmanager
    def _client(self, label: str, **settings: Any) -> Iterator[MemoryClient]:
        given = {"recall_timeout": BUDGET_S, "writes": QUICK, **settings}
        client = MemoryClient(
            resolve(
                self.provider,
                Adapter.DIRECT,
                url=self.server.url,
                api_key=f"rk_hostile_{label}",
                **given,
            )
        )
        self._observed.addresses.add(("127.0.0.1", self.server.port))
        with client:
            yield client

    def _recalls(self) -> None:
        with self._scene("hit", recall_timeout=PATIENT_S) as scene:
            scene.told()
            scene.recall("hit")
        with self._scene("empty", recall_timeout=PATIENT_S) as scene:
            scene.recall("empty", Scope("nobody-hostile", scene.label))
        with self._scene("skipped") as scene:
            scene.recall("skipped", prompt="hi")
        for name, fault in RECALL_FAULTS.items():
            budget_s = BUDGET_S if name == "timeout" else PATIENT_S
            with self._scene(name, fault, recall_timeout=budget_s) as scene:
                scene.recall(name)
        self._retried()
        self._circuit_open()
        self._shed()
        self._cancelled()
        if self.provider is Provider.MEMORYSYNC:
            self._internal_error()
            self._silent_quota()

    def _retried(self) -> None:
        fault = Fault("status", "recalls", status=503, retry_after_s=0.01, times=1)
        with self._scene("retried", fault, recall_timeout=PATIENT_S) as scene:
            scene.recall("retried")

    def _circuit_open(self) -> None:
        breaker = BreakerPolicy(min_calls=1, open_s=0.3, max_open_s=0.3)
        fault = Fault("status", "recalls", status=500)
        with self._scene("circuit_open", fault, recall_timeout=PATIENT_S, breaker=breaker) as scene:
            for _ in range(3):
                scene.recall("circuit_open")
            self.server.faults.clear()
            eventually(lambda: scene.recall("recovered") in ("hit", "empty"))

    def _shed(self) -> None:
        with self._scene("shed", Fault("hang", "recalls"), max_recalls_in_flight=1) as scene:
            run = contextvars.copy_context().run
            first = threading.Thread(target=run, args=(scene.recall, "shed_first"))
            first.start()
            assert self.server.wait_until(lambda: recalls_in_flight() > 0)
            scene.recall("shed")
            first.join()

    def _cancelled(self) -> None:
        with self._scene("cancelled", Fault("hang", "recalls"), recall_timeout=2.0) as scene:
            asyncio.run(scene.cancelled_recall(self.server))

    def _internal_error(self) -> None:
        """Recall for a user id that is no text: Rekall's search has none, so it is provoked at MemorySync alone."""
        with self._scene("internal_error") as scene:
            scene.recall("internal_error", Scope(cast("str", object()), scene.label))

    def _silent_quota(self) -> None:
        self.server.set_quota(0, QuotaMode.SILENT, Service.MEMORYSYNC)
        policy = WritePolicy(quota_recheck_s=0.02, max_parked_age_s=0.1)
        with self._scene("silent_quota", recall_timeout=PATIENT_S, writes=policy) as scene:
            scene.told()
            eventually(lambda: scene.client.stats().totals.parked == 0)
            scene.recall("silent_quota")
        self.server.set_quota(None, service=Service.MEMORYSYNC)

    def _explicit(self) -> None:
        with self._scene("explicit", search_timeout=PATIENT_S) as scene:
            scene.save("save")
            scene.search("search")
        faults = {
            "timeout": Fault("hang"),
            "server_error": Fault("status", status=500),
            "rate_limited": Fault("rate_limit"),
            "quota": Fault("strict_quota"),
            "auth": Fault("status", status=401),
            "invalid": Fault("status", status=422),
            "malformed": Fault("malformed"),
            "reset": Fault("reset"),
        }
        quick = WritePolicy(attempt_budget_s=BUDGET_S)
        for name, fault in faults.items():
            budget_s = BUDGET_S if name == "timeout" else PATIENT_S
            with self._scene(f"search_{name}", fault, search_timeout=budget_s) as scene:
                scene.search(f"search_{name}")
            policy = quick if name == "timeout" else QUICK
            with self._scene(f"save_{name}", fault, writes=policy) as scene:
                scene.save(f"save_{name}")

    def _writes(self) -> None:
        with self._scene("stored") as scene:
            scene.told()
        with self._scene("twice", Fault("reset", "writes", stored=True, times=1)) as scene:
            scene.told()
        with self._scene("of_an_agent") as scene:
            scene.told(speaker=Speaker.AI)
        with self._scene("refused_write", Fault("status", "writes", status=422)) as scene:
            scene.told()
            scene.client.flush(PATIENT_S)
        with self._scene("over_quota", Fault("strict_quota", "writes"), writes=PARKS) as scene:
            scene.told()
            eventually(lambda: scene.client.stats().totals.pending == 0)
        with self._scene("too_old", Fault("status", "writes", status=503), writes=AGES) as scene:
            scene.told()
            eventually(lambda: scene.client.stats().totals.pending == 0)
        with self._scene("dropped", Fault("hang", "writes"), writes=SLOW) as scene:
            scene.told()
            scene.client.close(0.0)

    def _adapters(self) -> None:
        """Run each adapter's agents at a healthy service: the first turn finds nothing, the second one the first."""
        for adapter in ADAPTERS:
            self._talk(adapter, "well", FACT, QUESTION, recall_timeout=PATIENT_S)

    def _adapters_at_faults(self) -> None:
        """Run each adapter's agents once through each fault of recalls that a turn can meet."""
        for adapter in ADAPTERS:
            for name, fault in RECALL_FAULTS.items():
                self.server.faults.add(fault)
                budget_s = BUDGET_S if name == "timeout" else PATIENT_S
                self._talk(adapter, name, QUESTION, recall_timeout=budget_s)
                self.server.faults.clear()
            self.server.faults.add(Fault("status", "recalls", status=500))
            breaker = BreakerPolicy(min_calls=1, open_s=60.0, max_open_s=60.0)
            self._talk(adapter, "circuit_open", QUESTION, FACT, breaker=breaker)
            self.server.faults.clear()
            self._talk(adapter, "skipped", "hi")

    def _talk(self, adapter: Adapter, name: str, *said: str, **settings: Any) -> None:
        session = f"{self.provider}-{adapter}-{name}"
        given = {"writes": QUICK, **settings}
        with self._tracer.start_as_current_span(f"turn {session}"):
            ADAPTERS[adapter](
                Conversation(
                    self.provider, self.server.url, f"rk_hostile_{session}", session, said, given
                )
            )


PARKS = WritePolicy(backoff_initial_s=0.02, quota_recheck_s=0.05, max_parked_age_s=0.2)
AGES = WritePolicy(backoff_initial_s=0.02, backoff_max_s=0.05, max_age_s=0.3)
SLOW = WritePolicy(attempt_budget_s=BUDGET_S)


@dataclass
class Scene:
    """One scenario under way."""

    label: str
    client: MemoryClient
    observed: Observed

    @property
    def scope(self) -> Scope:
        return Scope(USER, self.label)

    def recall(self, name: str, scope: Scope | None = None, prompt: str = QUESTION) -> str:
        outcome = str(self.client.recall(scope or self.scope, prompt, agent="planner").outcome)
        self.observed.outcomes[f"{self.client.provider}-{name}"] = outcome
        return outcome

    def search(self, name: str) -> None:
        self._explicit(name, lambda: self.client.search(self.scope, QUESTION, agent="planner"))

    def save(self, name: str) -> None:
        self._explicit(name, lambda: self.client.save(self.scope, FACT))

    def _explicit(self, name: str, work: Callable[[], object]) -> None:
        try:
            work()
            said = "ok"
        except MemotelError as error:
            said = error.error_type
        self.observed.outcomes[f"{self.client.provider}-{name}"] = said

    def told(self, speaker: Speaker = Speaker.HUMAN) -> None:
        """Hand over a turn; wait for it where nothing stands in its way."""
        self.client.write(Turn(self.scope, speaker, FACT, "planner", source="test"))
        self.client.flush(0.5)

    async def cancelled_recall(self, server: DevServer) -> None:
        seen = len(server.requests())
        task = asyncio.create_task(self.client.arecall(self.scope, QUESTION))
        assert await asyncio.to_thread(server.wait_until, lambda: len(server.requests()) > seen)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()


def recalls_in_flight() -> int:
    """Return the recalls in flight of this process."""
    return runtime.current().recalls_in_flight.count


def observed_run(work: Callable[[Scenarios], None] = Scenarios.run) -> Observed:
    """Run the scenarios of both services once; return what they told."""
    observed = Observed()
    with observing(observed) as tracers:
        for provider in Provider:
            with DevServer() as server:
                work(Scenarios(provider, server, observed, tracers))
                observed.headers += [dict(request.headers) for request in server.requests()]
    return observed
