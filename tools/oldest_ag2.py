"""Run the tests of the AG2 adapter on the oldest release of AG2 that pyproject.toml allows, in an environment of its own.

Usage: oldest_ag2.py [RELEASE] [-- PYTEST_ARGUMENT ...]. RELEASE is another release to try. The environment is made
under build/ once for each release; memotel itself is installed anew each time. Needs the package index.
"""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ("tests/frameworks/ag2", "tests/ag2")
NEEDED = ("hypothesis", "jsonschema", "orjson", "pillow", "pytest>=9", "pytest-timeout", "pyyaml")
_FLOOR = re.compile(r"autogen>=([0-9.]+)")


def oldest() -> str:
    """Return the release that the extra `ag2` begins with."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (requirement,) = project["optional-dependencies"]["ag2"]
    found = _FLOOR.match(requirement)
    if found is None:
        raise SystemExit(f"the extra ag2 names no oldest release: {requirement}")
    return found[1]


def environment(release: str) -> Path:
    """Return the Python of an environment with that release of AG2 and this memotel."""
    folder = ROOT / "build" / f"ag2-{release}"
    python = folder / "bin" / "python"
    install: list[str | Path] = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
    ]
    if not python.exists():
        venv.create(folder, with_pip=True)
        run([*install, f"autogen=={release}", *NEEDED])
    run([*install, "--force-reinstall", "--no-deps", str(ROOT)])
    run([*install, f"autogen=={release}", f"memotel[devserver,prometheus] @ {ROOT.as_uri()}"])
    return python


def run(command: list[str | Path]) -> None:
    """Run a command; end with its status where it fails."""
    status = subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603 # our own words
    if status:
        raise SystemExit(status)


def main(arguments: list[str]) -> None:
    """Make the environment and run the tests in it."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    release = next(iter(arguments[:split]), None) or oldest()
    python = environment(release)
    print(f"Testing on autogen {release} ...", flush=True)
    # Old releases import what has been deprecated since, so warnings are shown and not errors.
    run([python, "-P", "-m", "pytest", "-q", "-W", "default", *TESTS, *arguments[split + 1 :]])


if __name__ == "__main__":
    main(sys.argv[1:])
