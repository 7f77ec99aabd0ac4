"""docs/telemetry.md is what the code says now, and what the conventions' data says of spans."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conventions import CONTENT, OURS, Demand, http_demands, memory_demands

from memotel.notices import Event
from memotel.telemetry import names, spans

ROOT = Path(__file__).parents[2]
GENERATOR = ROOT / "tools" / "telemetry_reference.py"
PAGE = ROOT / "docs" / "telemetry.md"
NOT_SET = {"gen_ai.memory.record.id"}
"""Asked for where an operation applies to one record by its id; no call of ours does."""


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(GENERATOR), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_reference_is_fresh() -> None:
    done = run("--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_check_notices_a_page_that_is_not_fresh(tmp_path: Path) -> None:
    tools, docs = tmp_path / "tools", tmp_path / "docs"
    tools.mkdir()
    docs.mkdir()
    copy = tools / GENERATOR.name
    copy.write_text(GENERATOR.read_text())
    (docs / PAGE.name).write_text(PAGE.read_text().replace("memotel.recalls", "memotel.memories"))
    done = subprocess.run(
        [sys.executable, str(copy), "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "make telemetry-reference" in done.stderr


def test_reference_has_every_metric_attribute_and_event() -> None:
    page = PAGE.read_text()
    known = {
        *(instrument.name for instrument in names.INSTRUMENTS),
        *(instrument.prometheus_name for instrument in names.INSTRUMENTS),
        *(attribute.name for span in spans.SPANS for attribute in span.attributes),
        *(attribute.name for attribute in spans.CONTENT_ATTRIBUTES),
        *(event.value for event in Event),
    }
    assert [name for name in known if f"| `{name}` |" not in page] == []


def demands_of(attributes: tuple[spans.Attribute, ...]) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {each.name: (each.type, tuple(map(str, each.values))) for each in attributes}


@pytest.mark.parametrize(
    ("attributes", "demands"),
    [
        ((*spans.MEMORY_ATTRIBUTES, *spans.CONTENT_ATTRIBUTES), memory_demands()),
        (spans.HTTP_ATTRIBUTES, http_demands()),
    ],
    ids=["memory", "http"],
)
def test_described_attributes_are_those_of_the_conventions_data(
    attributes: tuple[spans.Attribute, ...], demands: dict[str, Demand]
) -> None:
    described = demands_of(attributes)
    assert described.keys() == demands.keys() - NOT_SET
    for name, (kind, values) in described.items():
        assert kind == demands[name].type, name
        if demands[name].values is not None:
            assert values == demands[name].values, name
    required = {name for name, demand in demands.items() if demand.level == "required"}
    always = {each.name for each in attributes if each.presence in ("always", "at the end")}
    assert required <= always


def test_described_outcomes_and_errors_are_the_promised_ones() -> None:
    promised = {*OURS["recall_outcomes"], *OURS["send_outcomes"]} - {"skipped"}
    assert set(spans.OUTCOMES) == promised
    assert list(names.ERROR_TYPES) == OURS["error_types"]
    assert {each.name for each in spans.CONTENT_ATTRIBUTES} == CONTENT


def test_every_attribute_name_is_described() -> None:
    described = {each.name for span in spans.SPANS for each in span.attributes} | CONTENT
    constants = {
        value
        for constant, value in vars(names).items()
        if constant.isupper()
        and isinstance(value, str)
        and re.fullmatch(r"(gen_ai|memotel|http|url|server|error)\.\S+", value)
    }
    assert constants - described == NOT_SET
