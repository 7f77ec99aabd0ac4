"""What the conventions' data demands of a span, and what is wrong with one: the checks of `tests/conformance`."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import yaml
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

DATA = Path(__file__).parents[1] / "data" / "semconv"
TYPES: dict[str, type | tuple[type, ...]] = {"string": str, "int": int, "float": float}


def _load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DATA / name).read_text())
    return found


MEMORY = _load("gen_ai_memory_client.yaml")
HTTP = _load("http_client.yaml")
OURS = _load("memotel.yaml")
RECORDS = json.loads((DATA / "gen_ai_memory_records.schema.json").read_text())
CONTENT = frozenset({"gen_ai.memory.query.text", "gen_ai.memory.records"})


@dataclass(frozen=True, slots=True)
class Demand:
    """One attribute: how strongly it is asked for, of what type it is, and its values where they are closed."""

    level: str
    type: str
    values: tuple[str, ...] | None = None


def memory_demands() -> dict[str, Demand]:
    """Return the attributes that a memory span may have."""
    demands = {
        name: Demand(level, OURS["types"][name]) for name, level in MEMORY["attributes"].items()
    }
    for name, entry in OURS["attributes"].items():
        values = tuple(entry["values"]) if "values" in entry else None
        demands[name] = Demand(entry["level"], entry["type"], values)
    return demands


def http_demands() -> dict[str, Demand]:
    """Return the attributes that an attempt's span may have."""
    return {name: Demand(level, HTTP["types"][name]) for name, level in HTTP["attributes"].items()}


def is_memory(span: ReadableSpan) -> bool:
    """Whether a span's name is one of the convention's operations."""
    return span.name in MEMORY["operation_names"]


def is_http(span: ReadableSpan) -> bool:
    """Whether a span is an attempt's."""
    return span.name in HTTP["methods"]


def problems_of_memory(span: ReadableSpan, *, has_content: bool = False) -> list[str]:
    """Return what is wrong with a memory span."""
    attributes = dict(span.attributes or {})
    found = [*_problems(attributes, memory_demands()), *_status_problems(span, attributes)]
    if span.kind is not SpanKind.CLIENT:
        found.append(f"kind {span.kind}")
    if span.name != attributes.get("gen_ai.operation.name"):
        found.append(f"name {span.name} is not the operation")
    found += _service_problems(span, attributes)
    found += _content_problems(attributes, has_content=has_content)
    error_type = attributes.get("error.type")
    if error_type is not None and error_type not in OURS["error_types"]:
        found.append(f"error.type={error_type} is none of the enum")
    return found


def _service_problems(span: ReadableSpan, attributes: Mapping[str, Any]) -> Iterator[str]:
    provider = attributes.get("gen_ai.provider.name")
    write = OURS["providers"].get(provider)
    if write is None:
        yield f"gen_ai.provider.name={provider}"
    is_search = span.name == "search_memory"
    if not is_search and span.name != write:
        yield f"{provider} has no operation {span.name}"
    outcomes = {*OURS["recall_outcomes"]} - {"skipped"}
    if not is_search:
        outcomes |= {*OURS["send_outcomes"]}
    if attributes.get("memotel.outcome") not in outcomes:
        yield f"memotel.outcome={attributes.get('memotel.outcome')}"
    if "server.address" not in attributes or "server.port" not in attributes:
        yield "server.address and server.port are always set"


def _content_problems(attributes: Mapping[str, Any], *, has_content: bool) -> Iterator[str]:
    shown = CONTENT & attributes.keys()
    if shown and not has_content:
        yield f"content without being asked: {sorted(shown)}"
    records = attributes.get("gen_ai.memory.records")
    if records is not None:
        try:
            jsonschema.validate(json.loads(records), RECORDS)
        except (ValueError, jsonschema.ValidationError) as error:
            yield f"gen_ai.memory.records: {type(error).__name__}"


def problems_of_http(span: ReadableSpan) -> list[str]:
    """Return what is wrong with an attempt's span."""
    attributes = dict(span.attributes or {})
    found = [*_problems(attributes, http_demands()), *_status_problems(span, attributes)]
    if span.kind is not SpanKind.CLIENT:
        found.append(f"kind {span.kind}")
    if span.name != attributes.get("http.request.method"):
        found.append(f"name {span.name} is not the method")
    return [*found, *_http_problems(attributes)]


def _http_problems(attributes: Mapping[str, Any]) -> Iterator[str]:
    status, error = attributes.get("http.response.status_code"), attributes.get("error.type")
    if status is not None and (status >= 400) != (error == str(status)):
        yield f"status {status} with error.type={error}"
    if attributes.get("http.request.resend_count", 1) < 1:
        yield "http.request.resend_count below 1"
    url = urlsplit(str(attributes.get("url.full")))
    if (url.hostname, url.port) != (attributes["server.address"], attributes["server.port"]):
        yield f"url.full {url.geturl()} is not at server.address and server.port"
    if url.username or url.path != attributes.get("url.template"):
        yield f"url.full {url.geturl()} does not show the template"


def _problems(attributes: Mapping[str, Any], demands: Mapping[str, Demand]) -> Iterator[str]:
    for name, demand in demands.items():
        if demand.level == "required" and name not in attributes:
            yield f"{name} is missing"
    for name, value in attributes.items():
        if name not in demands:
            yield f"{name} is not an attribute of this span"
        elif problem := _value_problem(value, demands[name]):
            yield f"{name}={value!r}: {problem}"


def _value_problem(value: object, demand: Demand) -> str | None:
    is_list = demand.type.endswith("[]")
    expected = TYPES[demand.type.removesuffix("[]")]
    values = value if is_list and isinstance(value, tuple) else (value,)
    if is_list is not isinstance(value, tuple):
        return f"not {demand.type}"
    for each in values:
        if isinstance(each, bool) or not isinstance(each, expected):
            return f"not {demand.type}"
        if demand.values is not None and each not in demand.values:
            return "none of the enum"
    return None


def _status_problems(span: ReadableSpan, attributes: Mapping[str, Any]) -> Iterator[str]:
    is_error = span.status.status_code is StatusCode.ERROR
    if is_error is not ("error.type" in attributes):
        yield f"status {span.status.status_code} with error.type={attributes.get('error.type')}"
    if span.status.description:
        yield "a status description can hold content"
    if span.events:
        yield "an event can hold content"


def series_problems(name: str, points: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the label values of one metric's points that are none of the closed sets."""
    closed = OURS["labels"]
    found = []
    for labels in points:
        for label, value in labels.items():
            allowed = closed.get(f"{name}/{label}") or closed.get(label)
            if allowed is not None and value not in allowed:
                found.append(f"{name}: {label}={value}")
    return found
