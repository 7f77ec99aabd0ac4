"""How the house is kept: small facades, no large modules, types shipped, every suppression with its reason."""

import ast
import importlib.util
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("memotel", "rekall_autogen", "ag2_memorysync")
INIT_LINES = 60
MODULE_LINES = 400
BANNER = re.compile(r"^\s*#\s*[-=#*~_]{3,}", re.MULTILINE)
NOQA = re.compile(r"#\s*noqa(?P<rest>.*)$", re.MULTILINE)
IGNORE = re.compile(r"#\s*type:\s*ignore(?P<rest>.*)$", re.MULTILINE)
NO_COVER = re.compile(r"#\s*pragma:\s*no cover(?P<rest>.*)$", re.MULTILINE)


def folder(package: str) -> Path:
    """Return where `package` is installed, without importing it."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def modules() -> list[Path]:
    """Return every module of the three installed packages."""
    found = [path for package in PACKAGES for path in sorted(folder(package).rglob("*.py"))]
    assert len(found) > 50
    return found


def own_python() -> list[Path]:
    """Return every Python file of the project: the installed packages, tests, tools and the dashboards' builder."""
    beside = [
        path for name in ("tests", "tools", "dashboards") for path in (ROOT / name).rglob("*.py")
    ]
    return modules() + sorted(beside)


@pytest.mark.skipif(
    "MEMOTEL_TEST_WHEEL" not in os.environ, reason="only `make test` tests the wheel"
)
@pytest.mark.parametrize("package", PACKAGES)
def test_package_under_test_is_the_installed_wheel(package: str) -> None:
    assert "site-packages" in folder(package).parts
    assert not folder(package).is_relative_to(ROOT / "src")


@pytest.mark.parametrize("package", PACKAGES)
def test_package_ships_its_types(package: str) -> None:
    assert (folder(package) / "py.typed").is_file()


def test_facades_are_short() -> None:
    long = {
        str(path): lines
        for path in modules()
        if path.name == "__init__.py" and (lines := len(path.read_text().splitlines())) > INIT_LINES
    }
    assert long == {}


def test_modules_are_not_large() -> None:
    large = {
        str(path): lines
        for path in modules()
        if (lines := len(path.read_text().splitlines())) > MODULE_LINES
    }
    assert large == {}


def test_folders_of_modules_are_packages() -> None:
    missing = {str(path.parent) for path in modules() if not (path.parent / "__init__.py").exists()}
    assert missing == set()


def test_every_module_says_what_lives_there() -> None:
    silent = [
        str(path) for path in modules() if ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert silent == []


def test_no_module_is_divided_by_banners() -> None:
    divided = [str(path) for path in own_python() if BANNER.search(path.read_text())]
    assert divided == []


@pytest.mark.parametrize(
    ("marker", "shape"),
    [
        (NOQA, re.compile(r": [A-Z]+[0-9]+(, ?[A-Z]+[0-9]+)* +# \w")),
        (IGNORE, re.compile(r"\[[\w, -]+\] +# \w")),
        (NO_COVER, re.compile(r" +# \w")),
    ],
    ids=["noqa", "type-ignore", "no-cover"],
)
def test_every_suppression_has_a_code_and_a_reason(
    marker: re.Pattern[str], shape: re.Pattern[str]
) -> None:
    bare = [
        f"{path}: {found[0].strip()}"
        for path in own_python()
        if path != Path(__file__)
        for found in marker.finditer(path.read_text())
        if not shape.match(found["rest"])
    ]
    assert bare == []
