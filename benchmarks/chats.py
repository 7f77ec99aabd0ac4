"""Agents, their memory and their telemetry, as the benchmarks set them up."""

from collections.abc import Callable, Iterator
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from ag2_memorysync import MemorySyncCapability
from autogen import ConversableAgent
from memotel.config import BreakerPolicy

QUESTION = "What does Ada like to drink in the morning, and how warm?"
NEVER = 1_000_000_000
NO_BREAKER = BreakerPolicy(failure_share=1.0, min_calls=NEVER, consecutive_timeouts=NEVER)


class Nowhere(SpanExporter):
    """An exporter that throws spans away, so that no network is measured but the recall's."""

    def export(self, spans: object) -> SpanExportResult:
        return SpanExportResult.SUCCESS if spans else SpanExportResult.FAILURE


def telemetry_on() -> None:
    """Set up an SDK that samples and batches every span, exports it nowhere, and collects metrics."""
    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(Nowhere(), max_queue_size=65_536))
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(MeterProvider((InMemoryMetricReader(),)))


def memory_at(url: str, label: str = "bench", **options: Any) -> MemorySyncCapability:
    """Return a capability on an account of that label."""
    settings = {"session_id": "s", "api_key": "ms_key", "account": label, "recall_timeout": 5.0}
    return MemorySyncCapability(user_id="ada", base_url=url, **{**settings, **options})


def agent_named(name: str, answer: Callable[..., object] | None = None) -> ConversableAgent:
    """Return an agent without a model; `answer` is a reply function of its own, which may see memory."""
    agent = ConversableAgent(name, human_input_mode="NEVER", llm_config=False)
    if answer is not None:
        agent.register_reply([ConversableAgent, None], answer, position=2)
    return agent


def says_yes(*_: object, **__: object) -> tuple[bool, str]:
    """Answer at once, in place of a model."""
    return True, "Yes, I think so."


def recall_hook(agent: ConversableAgent, ada: ConversableAgent | None = None) -> Callable[[], str]:
    """Return what makes AG2's call of the reply function that memory placed; it returns what the model would see."""
    function = next(_recalls(agent))
    sender = ada or agent_named("ada")

    def recall() -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
        function(agent, messages=messages, sender=sender, config=None)
        return str(messages[0]["content"])

    return recall


def _recalls(agent: Any) -> Iterator[Any]:
    for entry in agent._reply_func_list:  # noqa: SLF001 # the list that AG2 walks at every reply
        if entry["reply_func"].__name__.startswith("memotel_recall"):
            yield entry["reply_func"]
