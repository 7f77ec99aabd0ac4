"""The pages for users: links lead somewhere, names are real, code is code, and the page on testing is a test."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memotel.doctor.choices import OTHER_VARIABLES
from memotel.notices import Event
from memotel.settings import SETTINGS
from memotel.telemetry.names import INSTRUMENTS

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    ROOT / "deploy" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "dashboards" / "runbooks").glob("*.md")),
]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
VARIABLES = {*OTHER_VARIABLES, *(setting.variable for setting in SETTINGS)}
SUFFIXES = ("", "_bucket", "_count", "_sum")
METRICS = {f"{each.prometheus_name}{suffix}" for each in INSTRUMENTS for suffix in SUFFIXES}
FENCE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
EVENT = re.compile(r"`([a-z]+\.[a-z_]+)`")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = FENCE.sub("", page.read_text())
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def is_answered(page: Path, link: str) -> bool:
    place, _, anchor = link.partition("#")
    target = page.parent / place if place else page
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_of_a_page_lead_to_files_and_headings(page: Path) -> None:
    links = [link for link in LINK.findall(FENCE.sub("", page.read_text())) if "://" not in link]

    assert [link for link in links if not is_answered(page, link)] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_variables_and_metrics_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text()

    assert set(re.findall(r"\bMEMOTEL_[A-Z_]*[A-Z]\b", text)) - VARIABLES == set()
    assert set(re.findall(r"\bmemotel_[a-z_]+_(?:total|seconds)\b", text)) - METRICS == set()


def test_troubleshooting_names_metrics_and_events_that_exist() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text()
    topics = {event.topic for event in Event}
    events = {name for name in EVENT.findall(text) if name.partition(".")[0] in topics}
    gauges = set(re.findall(r"`(memotel_[a-z_]+)`", text))

    assert len(events) > 5
    assert events <= {event.value for event in Event}
    assert len(gauges) > 3
    assert gauges <= METRICS


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_python_on_a_page_is_python(page: Path) -> None:
    for language, code in FENCE.findall(page.read_text()):
        if language == "python":
            ast.parse(code)


def test_page_on_testing_passes_as_it_stands(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "testing.md").read_text()
    (code,) = [code for language, code in FENCE.findall(page) if language == "python"]
    (tmp_path / "test_support_bot.py").write_text(code)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_support_bot.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


SCRAPE = """
import asyncio, httpx

async def scrape():
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://bot") as client:
        return await client.get("/metrics/")

print(asyncio.run(scrape()).text)
"""


def test_page_on_several_processes_mounts_metrics_as_it_says() -> None:
    page = (ROOT / "docs" / "several-processes.md").read_text()
    (code,) = [code for _, code in FENCE.findall(page) if code.startswith("# main.py")]
    client = "import memotel\nmemotel.MemoryClient(memotel.resolve('rekall', 'direct', api_key='rk_1'))\n"

    done = subprocess.run(
        [sys.executable, "-c", code + client + SCRAPE],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "memotel_recalls_total{" in done.stdout
    assert 'service_name="support-bot"' in done.stdout
