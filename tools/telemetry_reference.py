"""Write docs/telemetry.md, the reference of every span, attribute, metric and label, from the names that the code uses.

Usage: telemetry_reference.py [--check]. With --check nothing is written, and it fails where the file is not fresh.
"""

import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from memotel.notices import Event, level_of
from memotel.telemetry import names, spans
from memotel.telemetry.content import CAPTURE_VARIABLE

TARGET = Path(__file__).parents[1] / "docs" / "telemetry.md"
HEAD = f"""\
# Telemetry reference

Every span, attribute, metric, label and log event of memotel. Made by `make telemetry-reference` from
`memotel.telemetry.names`; do not edit it by hand.

Spans follow the OpenTelemetry GenAI memory convention (in development) and the stable HTTP client convention; `memotel.*` names are ours
and are kept stable, so dashboards and alerts use those. No user, session, tenant, agent or text is ever on a metric; on spans the session
and the agent's name are (`record_session_id=False` leaves the session out), and content only where
`{CAPTURE_VARIABLE}` is `SPAN_ONLY`, `SPAN_AND_EVENT` or `true`.

## Spans

All spans are of kind CLIENT, of the instrumentation scope `{names.SCOPE}`. A recall that ends without memories because of a timeout, an outage
or a quota is handled: its status is UNSET and `{names.MEMOTEL_OUTCOME}` says what happened, while the failed attempt below it carries
`{names.ERROR_TYPE}` and ERROR. A search or a save that raises is ERROR. A call that its caller cancelled is UNSET. Statuses hold no message
and spans no events.
"""
METRICS = """\
## Metrics

Counters and gauges are observable: they are read from plain integers at each collection, start at 0 with the first client, and start
at 0 again in a forked child. Histograms start with their first record and carry exemplars of sampled spans.
"""
LOG = """\
## Log events

The standard logger `memotel.<topic>`, the topic being the first word of the event. Each line is one event of one account, at most once a
minute; a change of state that was held back is said when the minute is over, if it still stands. Records carry `event`, `provider`,
`account` (a hash that reveals no credential), `suppressed` (lines held back before this one), and `trace_id` and `span_id` where a
span is current. The last two events of the table are of the process and carry `event` alone. The import names `ag2_memorysync` and `rekall_autogen`
have no code, so no logger, of their own. No line holds content, users, sessions or keys.
"""
OPEN = {names.VERSION.name: "the version that runs"}
EVENTS = {
    Event.CIRCUIT_OPENED: "the service is failing; recalls are refused at once until it answers",
    Event.CIRCUIT_CLOSED: "it answers again",
    Event.QUOTA_SILENT: "the plan is used up and the service does not say so: answers are empty, writes are parked",
    Event.QUOTA_LIMITED: "the plan is used up and the service says so",
    Event.QUOTA_RETURNED: "the plan stores and recalls again",
    Event.CREDENTIALS_REJECTED: "a 401; recalls are skipped and writes wait",
    Event.CREDENTIALS_ACCEPTED: "the key is accepted again",
    Event.HTTP_CLIENT_RENEWED: "requests outlived their deadlines and the HTTP client was replaced",
    Event.OUTBOX_FULL: "writes are lost until some are delivered",
    Event.OUTBOX_DEGRADED: "the disk fails: accepted writes wait in memory until it works again",
    Event.OUTBOX_RESTORED: "the disk works again, and has what waited in memory",
    Event.OUTBOX_DAMAGED: "an outbox file could not be read; it was set aside as `*.corrupt-<time>`",
    Event.OUTBOX_NEWER: "an outbox file of a newer memotel was left alone",
    Event.OUTBOX_ADOPTED: "writes that another process left behind were taken over",
    Event.WRITES_DEAD_LETTER: "a write was rejected for good",
    Event.WRITES_DROPPED: "a memory outbox was closed with writes in it",
    Event.WRITES_REDACT_FAILED: "`redact` raised: a turn is not stored",
    Event.HOOK_RECALL_FAILED: "a fault of memotel's own in a framework hook: the reply goes on without memories",
    Event.HOOK_WRITE_FAILED: "a fault of memotel's own in a framework hook: a turn was not handed over",
    Event.RECALL_FAILED: "a setting that cannot work, a request that the service refuses, or a fault of memotel's own: the reply goes on without memories",
    Event.INSTALLATION_FOREIGN: "once in a process: another package holds our import names or took them away",
    Event.TELEMETRY_FAILED: "once in a process: an exporter, processor or meter failed; calls go on, later ones are counted",
}


def reference() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *_spans(), METRICS, *_metrics(), *_labels(), LOG, *_events()])


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _code(values: Iterable[str]) -> str:
    return " ".join(f"`{value}`" for value in values)


def _spans() -> Iterator[str]:
    for span in spans.SPANS:
        yield f"### {span.title}: {_code(span.span_names)}\n"
        yield f"{span.meaning}\n"
        if span.attributes is not spans.MEMORY_ATTRIBUTES or span is spans.SPANS[0]:
            yield _attributes(span.attributes)
        else:
            yield "Attributes as of a recall.\n"
    yield "### Content, only where it is asked for\n"
    yield _attributes(spans.CONTENT_ATTRIBUTES)


def _attributes(attributes: Iterable[spans.Attribute]) -> str:
    rows = [
        (f"`{each.name}`", each.type, each.presence, f"{each.meaning} {_code(each.values)}".strip())
        for each in attributes
    ]
    return _table(("attribute", "type", "when", "meaning and values"), rows)


def _metrics() -> Iterator[str]:
    rows = [
        (
            f"`{each.name}`",
            f"`{each.prometheus_name}`",
            each.kind.value,
            f"`{each.unit}`",
            _code(each.label_names),
            each.description,
        )
        for each in names.INSTRUMENTS
    ]
    yield _table(("instrument", "Prometheus", "type", "unit", "labels", "meaning"), rows)
    yield "### Bounds of the histograms\n"
    bounds = [(f"`{each.name}`", " ".join(map(repr, each.bounds))) for each in names.HISTOGRAMS]
    yield _table(("instrument", "bounds, seconds"), bounds)


def _labels() -> Iterator[str]:
    yield "### Values of the labels\n"
    found: dict[tuple[str, tuple[str, ...] | None], list[str]] = {}
    for instrument in names.INSTRUMENTS:
        for label in instrument.labels:
            found.setdefault((label.name, label.values), []).append(instrument.name)
    shared = {name for name, _ in found if sum(name == other for other, _ in found) > 1}
    rows = [
        (
            f"`{name}`",
            _code(f"{each}" for each in metrics) if name in shared else "",
            _code(map(str, values)) if values else OPEN.get(name, "as the convention says"),
        )
        for (name, values), metrics in found.items()
    ]
    yield _table(("label", "on", "values"), rows)
    yield f"In Prometheus a dot becomes an underscore: `{names.ERROR_TYPE}` is `error_type`, empty where there was no error.\n"


def _events() -> Iterator[str]:
    rows = [(f"`{event}`", logging.getLevelName(level_of(event)), EVENTS[event]) for event in Event]
    yield _table(("event", "level", "meaning"), rows)


def main(arguments: Sequence[str]) -> int:
    """Write the page, or check it; return the exit status."""
    page = reference().rstrip() + "\n"
    if "--check" not in arguments:
        TARGET.write_text(page, encoding="utf-8")
        return 0
    if TARGET.read_text(encoding="utf-8") == page:
        return 0
    print(f"{TARGET.name} is not fresh: run make telemetry-reference", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
