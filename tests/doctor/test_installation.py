"""Whose is `ag2_memorysync`: told by a real pip in a throwaway environment, in both orders, and after a removal."""

import json
import logging
import subprocess
import sys
import types
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memotel import facades
from memotel.doctor.findings import Level
from memotel.doctor.installation import finding_of
from memotel.facades import Facade, FacadeState, complaint, glance
from memotel.notices import Event

ROOT = Path(__file__).parents[2]
FOREIGN_FILES = {
    "ag2_memorysync/__init__.py": "MemorySyncCapability = None\n",
    "ag2_memorysync-0.2.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: ag2-memorysync\nVersion: 0.2.0\n",
    "ag2_memorysync-0.2.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
LOOK = """
import json
from memotel.facades import complaint, inspected
found = {f.name: [f.state, f.rivals] for f in inspected()}
print(json.dumps({"found": found, "complaint": complaint()}))
"""


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of memotel as it stands."""
    folder = tmp_path_factory.mktemp("ours")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny wheel of another distribution with our import name in it."""
    wheel = tmp_path_factory.mktemp("foreign") / "ag2_memorysync-0.2.0-py3-none-any.whl"
    record = "ag2_memorysync-0.2.0.dist-info/RECORD"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in FOREIGN_FILES.items():
            archive.writestr(name, text)
        archive.writestr(record, "".join(f"{name},,\n" for name in [*FOREIGN_FILES, record]))
    return wheel


class Environment:
    """A virtual environment without any dependency: what is looked at needs none."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "bin" / "python"
        run(sys.executable, "-m", "venv", "--without-pip", str(folder))

    def pip(self, *arguments: str) -> None:
        run(sys.executable, "-m", "pip", "--python", str(self.python), *arguments)

    def install(self, wheel: Path) -> None:
        self.pip("install", "-q", "--no-index", "--no-deps", str(wheel))

    def look(self) -> tuple[list[object], str]:
        said = json.loads(run(str(self.python), "-I", "-c", LOOK))
        assert said["found"]["rekall_autogen"] == ["ours", []]
        return said["found"]["ag2_memorysync"], said["complaint"]


def run(*command: str) -> str:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "env")


def test_foreign_package_after_ours_is_noticed(
    environment: Environment, ours: Path, foreign: Path
) -> None:
    environment.install(ours)
    assert environment.look() == (["ours", []], "")

    environment.install(foreign)
    found, said = environment.look()

    assert found == ["foreign", ["ag2-memorysync"]]
    assert "ag2_memorysync is foreign" in said
    assert "uninstall ag2-memorysync" in said


def test_foreign_package_before_ours_is_noticed_and_its_removal_too(
    environment: Environment, ours: Path, foreign: Path
) -> None:
    environment.install(foreign)
    environment.install(ours)
    assert environment.look() == (["ours", ["ag2-memorysync"]], "")

    environment.pip("uninstall", "-q", "-y", "ag2-memorysync")
    found, said = environment.look()

    assert found == ["missing", []]
    assert "ag2_memorysync is missing" in said


def test_both_import_names_are_ours_here() -> None:
    assert [glance(name) for name in facades.FACADES] == [FacadeState.OURS, FacadeState.OURS]
    assert complaint() == ""


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process in which somebody else's module has our import name."""
    monkeypatch.setitem(sys.modules, "ag2_memorysync", types.ModuleType("ag2_memorysync"))
    facades.forget()
    yield
    facades.forget()


@pytest.mark.usefixtures("replaced")
def test_first_client_of_a_process_says_it_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="memotel.installation"):
        facades.warn_once()
        facades.warn_once()

    (record,) = caplog.records
    assert "ag2_memorysync is foreign" in record.getMessage()
    assert record.__dict__["event"] == Event.INSTALLATION_FOREIGN == "installation.foreign"


@pytest.mark.parametrize(
    ("facade", "level", "advice"),
    [
        (Facade("ag2_memorysync", FacadeState.OURS), Level.OK, ""),
        (
            Facade("ag2_memorysync", FacadeState.OURS, ("ag2-memorysync",)),
            Level.WARNING,
            "pip uninstall ag2-memorysync",
        ),
        (
            Facade("ag2_memorysync", FacadeState.FOREIGN, ("ag2-memorysync",)),
            Level.PROBLEM,
            "pip uninstall ag2-memorysync",
        ),
        (Facade("ag2_memorysync", FacadeState.FOREIGN), Level.PROBLEM, "pip install"),
        (Facade("ag2_memorysync", FacadeState.MISSING), Level.PROBLEM, "pip install"),
    ],
)
def test_finding_says_what_to_do(facade: Facade, level: Level, advice: str) -> None:
    finding = finding_of(facade)

    assert finding.level is level
    assert bool(finding.advice) is bool(advice)
    assert advice in finding.advice
