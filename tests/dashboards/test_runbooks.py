"""The runbooks: a page for each alert, its headings, queries that a Prometheus takes, and settings that exist."""

import inspect
import math
import re
import shlex
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import promql_parser
import pytest
from boards import nodes, object_at, objects
from catalogue_exposition import serving_the_catalogue
from prometheus_process import running_prometheus
from rule_files import (
    RULES,
    RUNBOOKS,
    alert_names,
    alerts,
    check_selectors,
    panel_of,
    raw_metrics,
    rules,
)

import memotel
from memotel import MemoryClient, config, outcomes
from memotel.ag2 import MemorySyncCapability, RekallCapability
from memotel.autogen import RekallMemory
from memotel.notices import Event
from memotel.outboxcli.options import parse
from memotel.settings import KEY_VARIABLES, SETTINGS, URL_VARIABLES, resolve
from memotel.telemetry import names, setup

HEADINGS = [
    "Meaning",
    "Impact on agents and people",
    "First five minutes",
    "Causes",
    "Mitigation",
    "Verification",
]
OF_PROMETHEUS = {"up"}
ANSWERS_S = 60.0
# What a process that does everything steadily still cannot show: a gauge that grows, yesterday, and a status code, whose
# values the convention leaves open.
NEEDS_MORE = ("deriv(", "offset 1d", 'http_response_status_code=~"4..|5.."')
LABELS_OF_RULES = {"long", "short", "slo", "component", "severity", "instance", "job", "version"}
every_page = pytest.mark.parametrize("name", alert_names())


def page(name: str) -> str:
    return (RUNBOOKS / f"{name}.md").read_text()


def sections(name: str) -> dict[str, str]:
    """Return the text under each heading of a page."""
    parts = re.split(r"(?m)^## (.+)$", page(name))[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def queries(text: str) -> list[str]:
    """Return what stands in the blocks marked as PromQL."""
    found = re.findall(r"```promql\n(.*?)```", text, re.DOTALL)
    assert text.count("```") == 2 * len(found), "a block that is not PromQL"
    return [query.strip() for query in found]


def all_queries() -> list[tuple[str, str]]:
    return [(name, query) for name in alert_names() for query in queries(page(name))]


def test_there_is_a_page_for_each_alert_and_no_other() -> None:
    found = {path.stem for path in RUNBOOKS.glob("*.md")} - {"README"}
    assert found == set(alert_names())


def test_the_first_page_lists_every_alert() -> None:
    listed = re.findall(
        r"^\| \[(\w+)\]\((\w+)\.md\) \|", (RUNBOOKS / "README.md").read_text(), re.M
    )
    assert {name for name, _ in listed} == set(alert_names())
    assert all(name == target for name, target in listed)


@every_page
def test_page_has_its_headings_in_order_and_something_under_each(name: str) -> None:
    assert page(name).startswith(f"# {name}\n")
    assert list(sections(name)) == HEADINGS
    assert all(len(text.strip()) > 40 for text in sections(name).values())


@every_page
def test_page_names_the_panel_and_the_severities_of_its_alert(name: str) -> None:
    head = page(name).partition("\n## ")[0]
    rule = next(rule for rule in alerts() if rule.name == name)
    path = rule.annotations["dashboard"].partition("&")[0]
    assert f"Panel *{panel_of(rule)['title']}*: `{path}`." in head
    for severity in {r.labels["severity"] for r in alerts() if r.name == name}:
        assert severity in head.lower()


@every_page
def test_the_panel_of_an_alert_leads_back_to_its_page(name: str) -> None:
    rule = next(rule for rule in alerts() if rule.name == name)
    links = [str(link["url"]) for link in objects(object_at(panel_of(rule), "links"))]
    assert any(url.endswith(f"/{name}.md") for url in links), links


@every_page
def test_first_minutes_and_verification_have_queries_and_one_reads_what_the_alert_reads(
    name: str,
) -> None:
    asked = queries(sections(name)["First five minutes"])
    assert len(asked) >= 2
    assert queries(sections(name)["Verification"])
    read = {
        str(n.name)
        for query in queries(page(name))
        for n in nodes(query)
        if isinstance(n, promql_parser.VectorSelector)
    }
    assert read & raw_metrics(name)


@pytest.mark.parametrize(("name", "query"), all_queries())
def test_query_parses_and_names_only_what_exists(name: str, query: str) -> None:
    recorded = {rule.name for rule in rules() if not rule.is_alert}
    check_selectors(query, recorded | OF_PROMETHEUS)
    for node in nodes(query):
        if isinstance(node, promql_parser.AggregateExpr):
            assert str(node.modifier).startswith("by"), query
            kept = set(re.findall(r"\w+", str(node.modifier))[1:])
            assert kept <= known_labels(), kept - known_labels()
    selectors = [n for n in nodes(query) if isinstance(n, promql_parser.VectorSelector)]
    assert query.count('job=~".+"') in (len(selectors), 0), "each selector is narrowed alike"


@cache
def known_labels() -> set[str]:
    return (
        {label.prometheus_name for each in names.INSTRUMENTS for label in each.labels}
        | LABELS_OF_RULES
        | {"le"}
    )


def test_a_real_prometheus_answers_every_query_without_nan_even_where_nothing_happens(
    tmp_path: Path,
) -> None:
    found = all_queries()
    assert len(found) > 40
    with (
        serving_the_catalogue(is_idle=True) as address,
        running_prometheus(tmp_path, [address], rules=RULES) as server,
    ):
        server.wait_for_series("rate(memotel_recalls_total[20s] offset 2s)")
        answers = {query: [s.value for s in server.query(query)] for _, query in found}
    assert not [query for query, values in answers.items() if any(map(math.isnan, values))]
    assert sum(bool(values) for values in answers.values()) > len(answers) / 3


def test_a_real_prometheus_has_data_for_every_query_where_everything_happens(
    tmp_path: Path,
) -> None:
    asked = {q for _, q in all_queries() if not any(part in q for part in NEEDS_MORE)}
    assert len(asked) > 60
    with (
        serving_the_catalogue() as address,
        running_prometheus(tmp_path, [address], rules=RULES) as server,
    ):
        server.wait_until(lambda s: [q for q in asked if not s.query(q)] == [], ANSWERS_S)


def test_links_between_pages_lead_to_pages() -> None:
    for path in RUNBOOKS.glob("*.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def spans(text: str) -> list[str]:
    """Return the code spans of a text, blocks left out."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


@cache
def settings() -> set[str]:
    """Return every name that an argument or a variable may have."""
    surfaces = (resolve, MemorySyncCapability, RekallCapability, RekallMemory, setup)
    arguments = {name for each in surfaces for name in inspect.signature(each).parameters}
    policies = {
        field.name
        for _, kind in inspect.getmembers(config, inspect.isclass)
        if is_dataclass(kind)
        for field in fields(kind)
    }
    own = {each for s in SETTINGS for each in (s.name, s.variable)}
    keys = set(KEY_VARIABLES.values()) | set(URL_VARIABLES.values())
    return own | keys | arguments | policies | read_by_the_source()


@cache
def read_by_the_source() -> set[str]:
    """Return the environment variables that the package's source names."""
    root = Path(str(memotel.__file__)).parent
    pattern = r"\b(?:OTEL_[A-Z_]+|MEMOTEL_DISABLED|HTTPS_PROXY|NO_PROXY|SSL_CERT_FILE)\b"
    return {name for path in root.rglob("*.py") for name in re.findall(pattern, path.read_text())}


@cache
def other_words() -> set[str]:
    """Return what else a page may quote: label names and values, log events, addresses, calls."""
    enums = {
        str(member)
        for _, kind in inspect.getmembers(outcomes, inspect.isclass)
        if issubclass(kind, StrEnum)
        for member in kind
    }
    public = set(dir(MemoryClient)) | {"setup"}
    words = {names.SEARCH_MEMORY, "poison", ".+"}
    return enums | set(Event) | known_labels() | public | {f"{name}()" for name in public} | words


def is_command(span: str) -> bool:
    """Whether `memotel outbox` takes these words; it ends the test where it does not."""
    parse(["." if word == "DIRECTORY" else word for word in shlex.split(span)[2:]])
    return True


def is_known(span: str) -> bool:
    if span.startswith("memotel outbox "):
        return is_command(span)
    name = re.split(r"[=(]", span)[0]
    return span in other_words() or name in settings()


@every_page
def test_page_names_only_settings_and_words_that_exist(name: str) -> None:
    addresses = re.compile(r"/d/memotel-|curl http://127\.0\.0\.1:|component=")
    unknown = [s for s in spans(page(name)) if not addresses.match(s) and not is_known(s)]
    assert unknown == []


@every_page
def test_mitigation_names_a_setting_to_change(name: str) -> None:
    named = {re.split(r"[=(]", span)[0] for span in spans(sections(name)["Mitigation"])}
    assert named & settings(), f"{name}: no setting in its mitigation"


@pytest.mark.parametrize("wrong", ["recal_timeout", "MEMOTEL_RECALL_TIMEOUTS", "circuit.exploded"])
def test_a_name_that_does_not_exist_is_noticed(wrong: str) -> None:
    assert not is_known(wrong)


def test_a_query_of_a_metric_or_label_that_does_not_exist_is_noticed() -> None:
    for wrong in ('memotel_recals_total{job=~".+"}', 'memotel_recalls_total{user="x"}'):
        with pytest.raises(AssertionError):
            check_selectors(wrong, set())
