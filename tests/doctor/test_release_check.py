"""`tools/release_check.py` fails where it should; and the tree's own version and lock are in order."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
LOCKED = "ag2==1.2.1 \\\n    --hash=sha256:00\nPyYAML==6.0 \\\n    --hash=sha256:11\n"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "release_check", ROOT / "tools" / "release_check.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check = loaded()


def test_version_is_the_changelogs_top() -> None:
    changelog = "## [Unreleased]\n\n## [0.2.0] - 2026-11-30\n\n## [0.1.0]\n"

    assert check.check_version("0.2.0", changelog) == "0.2.0"
    with pytest.raises(check.ReleaseError, match=r"0\.1\.0.*0\.2\.0"):
        check.check_version("0.1.0", changelog)


def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "1" / "a.whl", tmp_path / "2" / "a.whl"
    for path in (first, second):
        path.parent.mkdir()
        path.write_bytes(b"same")

    assert len(check.check_same(first, second)) == 64
    second.write_bytes(b"other")
    with pytest.raises(check.ReleaseError, match="differ"):
        check.check_same(first, second)


def test_lock_has_every_requirement_with_a_hash() -> None:
    assert check.check_lock(LOCKED, ["ag2>=1", "pyyaml>=6"]) == 2


@pytest.mark.parametrize(
    ("lock", "says"),
    [
        (LOCKED.replace("ag2==", "ag3=="), "lacks ag2"),
        (LOCKED.replace("    --hash=sha256:11\n", ""), "no hash for PyYAML"),
        (LOCKED + "x @ file:///here\n", "a place to load from"),
    ],
)
def test_lock_that_lacks_something_is_refused(lock: str, says: str) -> None:
    with pytest.raises(check.ReleaseError, match=says):
        check.check_lock(lock, ["ag2>=1", "pyyaml>=6"])


def test_licences_are_looked_at() -> None:
    bsd = "Copyright X.\nRedistribution and use in source and binary forms, with or without\nmodification, are permitted"
    for good in ("MIT License", "Apache-2.0 OR GPL-2.0", bsd):
        assert check.check_licences([{"Name": "a", "License": good}]) == 1
    for odd in ("UNKNOWN", "GNU General Public License v3", "LGPL-3.0", "MIT AND GPL-3.0"):
        with pytest.raises(check.ReleaseError, match="licences of b"):
            check.check_licences([{"Name": "b", "License": odd}])


def test_lock_and_version_of_this_tree_are_in_order() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    version = check.project()["project"]["version"]

    assert check.check_version(version, changelog) == version
    locked = (ROOT / ".ci" / "requirements.txt").read_text()
    assert check.check_lock(locked, check.locked_requirements()) > 100
