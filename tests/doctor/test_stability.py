"""docs/stability.md and the table of versions say what the project really supports and is tested with."""

import importlib
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from memotel.doctor.findings import Level
from memotel.doctor.versions import FRAMEWORKS, LIBRARIES, Supported, check_versions, numbers

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EVERY = [*FRAMEWORKS, *LIBRARIES]
ids = [each.distribution for each in EVERY]


def declared(each: Supported) -> str:
    """Return the requirement that pyproject.toml has for a distribution."""
    extras = PROJECT["optional-dependencies"]
    requirements = extras[each.extra] if each.extra else PROJECT["dependencies"]
    (found,) = [r for r in requirements if r.startswith(f"{each.distribution}>=")]
    assert isinstance(found, str)
    return found


@pytest.mark.parametrize("each", EVERY, ids=ids)
def test_supported_range_is_the_declared_one(each: Supported) -> None:
    assert declared(each) == each.requirement


@pytest.mark.parametrize("each", EVERY, ids=ids)
def test_installed_release_is_in_the_supported_range(each: Supported) -> None:
    assert each.supports(version(each.distribution))


@pytest.mark.parametrize("each", EVERY, ids=ids)
def test_tested_release_is_the_one_that_ci_installs(each: Supported) -> None:
    locked = (ROOT / ".ci" / "requirements.txt").read_text().splitlines()

    assert f"{each.distribution}=={each.tested[-1]} \\" in locked
    assert all(each.supports(release) for release in each.tested)


@pytest.mark.parametrize(
    ("release", "expected"), [("1.2.0", (1, 2)), ("0.14.1rc2", (0, 14, 1)), ("2", (2,)), ("x", ())]
)
def test_numbers_of_a_release(release: str, expected: tuple[int, ...]) -> None:
    assert numbers(release) == expected


def test_releases_outside_the_range_are_a_problem_with_what_to_install() -> None:
    found = {f.subject: f for f in check_versions({"autogen": "0.9.9", "ag2": "1.3.0"}.get)}

    assert found["autogen"].level is Level.PROBLEM
    assert 'pip install "autogen>=0.10.5,<0.15"' in found["autogen"].advice
    assert found["ag2"].level is Level.OK
    assert found["ag2"].data["is_tested"] is False


def test_no_framework_at_all_is_a_warning() -> None:
    (found,) = check_versions({}.get)

    assert found.level is Level.WARNING
    assert "memotel[ag2]" in found.advice


def test_tables_of_the_page_are_fresh() -> None:
    tool = ROOT / "tools" / "stability_tables.py"
    done = subprocess.run(
        [sys.executable, str(tool), "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_links_of_the_page_lead_somewhere() -> None:
    text = (ROOT / "docs" / "stability.md").read_text()

    assert "](telemetry.md)" in text
    assert (ROOT / "docs" / "telemetry.md").is_file()
    assert "](../SECURITY.md)" in text
    assert (ROOT / "SECURITY.md").is_file()


def test_promised_packages_can_be_imported_by_name() -> None:
    text = (ROOT / "docs" / "stability.md").read_text()
    rows = [
        line.split("`")
        for line in text.splitlines()
        if line.startswith("| `") and line.count("`") > 4
    ]
    promised = {
        row[1]: row[3::2]
        for row in rows
        if row[1].split(".")[0] in ("memotel", "rekall_autogen", "ag2_memorysync")
    }

    assert len(promised) >= 8
    for package, found in promised.items():
        module = importlib.import_module(package)
        assert [name for name in found if not hasattr(module, name)] == []
