"""Every metric of a run with every outcome: names, types, units, descriptions, labels, bounds, and bounded labels."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from conventions import HTTP, MEMORY, OURS, series_problems
from observed_run import HOSTILE, USER, Observed
from opentelemetry.sdk.metrics.export import Gauge, Histogram, Metric, Sum
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from telemetry_rig import FOUND, POST, Rig, answer_ok

from memotel.calls import Answer, Call
from memotel.outcomes import Adapter, Operation, Outcome, Provider, Speaker
from memotel.telemetry import names
from memotel.values import Recall, Scope, Turn, Write

GEN_AI = "gen_ai.client.operation.duration"
HTTP_DURATION = "http.client.request.duration"
OURS_BY_NAME: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in OURS["metrics"]}
UNKNOWN_UNTIL_SAID = {"memotel.ratelimit.remaining"}


def labels_of(metric: Metric) -> list[Mapping[str, Any]]:
    return [dict(point.attributes or {}) for point in metric.data.data_points]


def kind_of(metric: Metric) -> str:
    data = metric.data
    if isinstance(data, Histogram):
        return "histogram"
    assert isinstance(data, Sum | Gauge)
    return "counter" if isinstance(data, Sum) and data.is_monotonic else "gauge"


def test_there_are_exactly_the_promised_metrics(observed: Observed) -> None:
    promised = {*OURS_BY_NAME, GEN_AI, HTTP_DURATION}
    assert promised - observed.metrics.keys() <= UNKNOWN_UNTIL_SAID
    assert observed.metrics.keys() - promised == set()
    assert {instrument.name for instrument in names.INSTRUMENTS} == promised


@pytest.mark.parametrize("name", OURS_BY_NAME)
def test_metric_has_its_type_unit_description_labels_and_bounds(
    observed: Observed, name: str
) -> None:
    expected, metric = OURS_BY_NAME[name], observed.metrics.get(name)
    if metric is None:
        assert name in UNKNOWN_UNTIL_SAID
        return
    (described,) = (each for each in names.INSTRUMENTS if each.name == name)
    assert (kind_of(metric), metric.unit) == (expected["type"], expected["unit"])
    assert metric.description == described.description
    assert metric.description.endswith(".")
    assert {tuple(sorted(labels)) for labels in labels_of(metric)} == {
        tuple(sorted(expected["labels"]))
    }
    for point in metric.data.data_points if "bounds" in expected else ():
        assert list(getattr(point, "explicit_bounds")) == expected["bounds"]  # noqa: B009 # histograms alone have them


def test_duration_of_operations_is_as_the_convention_says(observed: Observed) -> None:
    metric = observed.metrics[GEN_AI]
    assert MEMORY["metric"] == GEN_AI
    assert (kind_of(metric), metric.unit) == ("histogram", "s")
    assert metric.description == "GenAI operation duration."
    required = {"gen_ai.operation.name", "gen_ai.provider.name"}
    for point in metric.data.data_points:
        assert list(getattr(point, "explicit_bounds")) == MEMORY["metric_buckets"]  # noqa: B009 # as above
    shapes = {frozenset(labels) for labels in labels_of(metric)}
    assert shapes == {frozenset(required), frozenset({*required, "error.type"})}


def test_duration_of_requests_is_as_the_convention_says(observed: Observed) -> None:
    metric = observed.metrics[HTTP_DURATION]
    assert (kind_of(metric), metric.unit) == ("histogram", HTTP["metric_unit"])
    assert metric.description == HTTP["metric_description"]
    for point in metric.data.data_points:
        assert list(getattr(point, "explicit_bounds")) == HTTP["metric_buckets"]  # noqa: B009 # as above
    always = {"http.request.method", "server.address", "server.port"}
    for labels in labels_of(metric):
        assert always <= labels.keys() <= {*HTTP["metric_labels"]}
        status = labels.get("http.response.status_code")
        assert labels.get("error.type") == (str(status) if status and status >= 400 else None) or (
            status is None
        )
    assert any("http.response.status_code" not in labels for labels in labels_of(metric))


def test_no_series_has_a_value_outside_the_enums(observed: Observed) -> None:
    problems = [
        problem
        for name, metric in observed.metrics.items()
        for problem in series_problems(name, labels_of(metric))
    ]
    assert problems == []
    assert series_problems("memotel.recalls", [{"outcome": "ada"}]) == [
        "memotel.recalls: outcome=ada"
    ]


def test_every_closed_label_is_checked_somewhere() -> None:
    checked = {label.partition("/")[2] or label for label in OURS["labels"]}
    used = {label for entry in OURS["metrics"] for label in entry["labels"]}
    assert used - checked == {"version"}


def test_no_metric_holds_a_user_a_session_or_a_word(observed: Observed) -> None:
    shown = " ".join(
        f"{key}={value}"
        for metric in observed.metrics.values()
        for labels in labels_of(metric)
        for key, value in labels.items()
    )
    sessions = {str((s.attributes or {}).get("gen_ai.conversation.id")) for s in observed.spans}
    for word in (*HOSTILE, USER, "planner", *sessions - {"None"}):
        assert word not in shown


def test_writes_that_ended_without_a_send_have_a_delay(observed: Observed) -> None:
    found = {labels["outcome"] for labels in labels_of(observed.metrics["memotel.write.delay"])}
    assert {"stored", "duplicate", "ignored", "rejected", "quota", "expired", "dropped"} == found


def test_counters_equal_what_callers_got(observed: Observed) -> None:
    points = observed.metrics["memotel.recall.duration"].data.data_points
    durations = {(point.attributes or {})["outcome"]: 0 for point in points}
    for point in points:
        durations[(point.attributes or {})["outcome"]] += getattr(point, "count")  # noqa: B009 # as above
    spans = [
        span
        for span in observed.named("search_memory")
        if (span.attributes or {}).get("memotel.budget") is not None
        and "-search" not in str((span.attributes or {}).get("gen_ai.conversation.id"))
        and "-explicit" not in str((span.attributes or {}).get("gen_ai.conversation.id"))
    ]
    assert sum(durations.values()) == len(spans)


def users(number: int) -> Iterator[tuple[Scope, str]]:
    for index in range(number):
        yield Scope(f"user-{index}", f"session-{index}"), f"words of user {index}"


def recalled(rig: Rig, number: int) -> dict[str, int]:
    """Recall and deliver one write for each of so many users; return how many series each metric has."""
    send = rig.sending(answer_ok)

    async def handler(call: Call) -> Answer:
        await send(call, POST)
        call.settle(Outcome.HIT if call.operation is Operation.RECALL else "stored", FOUND)
        return FOUND

    stage = rig.stage(handler)
    for scope, words in users(number):
        turn = Turn(scope, Speaker.HUMAN, words, scope.user_id)
        write = Write(turn, words, "account", 0.0, Adapter.AG2)
        for operation, request in (
            (Operation.RECALL, Recall(scope, words, 5, f"agent of {scope.user_id}")),
            (Operation.WRITE, write),
        ):
            call = Call(
                operation,
                request,
                provider=Provider.MEMORYSYNC,
                adapter=Adapter.AG2,
                budget_s=1.2,
            )
            with pytest.raises(StopIteration):
                stage(call).send(None)
    return {name: len(metric.data.data_points) for name, metric in rig.metrics().items()}


def test_series_stay_as_many_with_ten_thousand_users() -> None:
    rig = Rig(sampler=ALWAYS_OFF)  # no span is kept, every metric is recorded
    few = recalled(rig, 10)
    many = recalled(rig, 10_000)
    assert many == few
    assert max(many.values()) < 150
