"""Is this tree fit to be released? Builds the wheel twice, checks versions and the lock, lists licences, writes an SBOM.

Usage: release_check.py [--lock]. With --lock the packages that CI installs are resolved anew, by hash, into
.ci/requirements.txt, and nothing else is done. Results are written under build/release. Needs the package index, and
this environment needs the dependency group `release`.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = ROOT / "build" / "release"
LOCK = ROOT / ".ci" / "requirements.txt"
LOCKED_GROUPS = ("build", "test", "check")
LOCK_HEAD = """\
# Every package that CI installs, by hash, for CPython 3.11 on Linux. Made by `tools/release_check.py --lock`;
# used by `make setup LOCKED=1`. memotel itself is installed as the wheel that was built.
"""
ALLOWED_LICENCES = re.compile(
    r"\b(MIT|BSD|Apache|ISC|MPL|Mozilla|PSF|Python Software Foundation|CC0|Unlicense|0BSD)\b"
    # The text of BSD, where a package puts that in place of a name.
    r"|Redistribution and use in source and binary forms, with or without\s+modification, are permitted",
    re.IGNORECASE,
)
COPYLEFT = re.compile(r"\b[AL]?GPL|General Public Licen[cs]e", re.IGNORECASE)
_RELEASE = re.compile(r"^## \[(\d[^\]]*)\]", re.MULTILINE)
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
_NAME = re.compile(r"^[A-Za-z0-9._-]+")


class ReleaseError(Exception):
    """The tree is not fit to be released; the message says why."""


def project() -> dict[str, object]:
    """Return the whole of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def check_version(project_version: str, changelog: str) -> str:
    """Return the version that both name; raises `ReleaseError` where the changelog's top is another one."""
    found = _RELEASE.search(changelog)
    top = found[1] if found else "none"
    if top != project_version:
        raise ReleaseError(f"pyproject.toml says {project_version}, CHANGELOG.md's top is {top}")
    return top


def check_same(first: Path, second: Path) -> str:
    """Return the SHA-256 of two builds; raises `ReleaseError` where they differ."""
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (first, second)]
    if first.name != second.name or digests[0] != digests[1]:
        raise ReleaseError(f"two builds of {first.name} differ: {digests[0]} and {digests[1]}")
    return digests[0]


def check_lock(lock: str, requirements: Sequence[str]) -> int:
    """Return how many packages are locked; raises `ReleaseError` for one that is missing, without a hash or by URL."""
    pinned = {normal(name) for name, _ in _PINNED.findall(lock)}
    missing = sorted({name for each in requirements if (name := named(each)) not in pinned})
    if missing:
        raise ReleaseError(f"{LOCK.name} lacks {', '.join(missing)}: run with --lock")
    if "://" in lock:
        raise ReleaseError(f"{LOCK.name} names a place to load from")
    bare = [block.split("==")[0] for block in blocks(lock) if "--hash=sha256:" not in block]
    if bare:
        raise ReleaseError(f"{LOCK.name} has no hash for {', '.join(bare)}")
    return len(pinned)


def check_licences(found: Sequence[Mapping[str, str]]) -> int:
    """Return how many packages have a licence that we may depend on; raises `ReleaseError` for any other."""
    odd = [
        f"{each['Name']} ({each['License'].splitlines()[0]})"
        for each in found
        if not is_allowed(each["License"])
    ]
    if odd:
        raise ReleaseError(f"look at the licences of {', '.join(odd)}")
    return len(found)


def is_allowed(licence: str) -> bool:
    """Whether a licence, by name or text, is permissive or a choice that has a permissive one in it."""
    is_choice = " OR " in licence.upper()
    return bool(ALLOWED_LICENCES.search(licence)) and (is_choice or not COPYLEFT.search(licence))


def blocks(lock: str) -> list[str]:
    """Return each locked package with its hashes, as one text."""
    lines = [line for line in lock.splitlines() if not line.startswith("#")]
    return [block for block in re.split(r"\n(?=\S)", "\n".join(lines)) if block.strip()]


def normal(name: str) -> str:
    """Return the name of a distribution as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def named(requirement: str) -> str:
    """Return the name of the distribution that a requirement asks for."""
    found = _NAME.match(requirement)
    return normal(found[0]) if found else ""


def locked_requirements() -> list[str]:
    """Return everything that pyproject.toml asks for in the core, the extras and CI's groups; not memotel itself."""
    whole = project()
    core: dict[str, object] = whole["project"]  # type: ignore[assignment] # a table, says the packaging standard
    groups: dict[str, list[str]] = whole["dependency-groups"]  # type: ignore[assignment] # likewise
    extras: dict[str, list[str]] = core["optional-dependencies"]  # type: ignore[assignment] # likewise
    found: list[str] = [*core["dependencies"]]  # type: ignore[misc] # a list of requirements
    for listed in (*extras.values(), *(groups[name] for name in LOCKED_GROUPS)):
        found += listed
    return sorted({each for each in found if named(each) != "memotel"})


def write_lock() -> None:
    """Resolve everything that CI installs, with hashes."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, locked = Path(folder, "wanted.in"), Path(folder, "locked.txt")
        wanted.write_text("\n".join(locked_requirements()) + "\n", encoding="utf-8")
        options = (
            "--generate-hashes",
            "--allow-unsafe",
            "--strip-extras",
            "--no-header",
            "--no-annotate",
        )
        silent = ("--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-find-links", "-q")
        run(sys.executable, "-m", "piptools", "compile", *options, *silent, "-o", locked, wanted)
        LOCK.write_text(LOCK_HEAD + locked.read_text(encoding="utf-8"), encoding="utf-8")


def run(*command: str | Path, **variables: str) -> str:
    """Run a command from the project's folder; return what it printed, raise `ReleaseError` where it fails."""
    done = subprocess.run(  # noqa: S603 # our own words
        command, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ReleaseError(f"{Path(command[0]).name} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def built(folder: Path) -> Path:
    """Build the wheel into a folder and return it; its times are those of the last commit."""
    epoch = run("git", "log", "-1", "--format=%ct").strip()
    run(
        sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder,
        SOURCE_DATE_EPOCH=epoch,
    )  # fmt: skip # one command
    (wheel,) = folder.glob("*.whl")
    return wheel


def users_environment(wheel: Path) -> Path:
    """Return the Python of a fresh environment with the wheel and every extra, as a user gets it."""
    folder = OUT / "environment"
    venv.create(folder, clear=True, with_pip=True)
    python = folder / "bin" / "python"
    run(
        python, "-m", "pip", "install", "-q", "--disable-pip-version-check", f"{wheel}[all,fast]",
    )  # fmt: skip # one command
    return python


def steps() -> Iterator[str]:
    """Do each check and say what it found."""
    core: dict[str, str] = project()["project"]  # type: ignore[assignment] # a table, says the packaging standard
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    yield f"version    {check_version(core['version'], changelog)}, as the changelog says"
    count = check_lock(LOCK.read_text(encoding="utf-8"), locked_requirements())
    yield f"lock       {count} packages by hash in {LOCK.relative_to(ROOT)}"
    wheel = built(OUT / "first")
    yield f"wheel      {wheel.name}, built twice, sha256 {check_same(wheel, built(OUT / 'second'))}"
    python = users_environment(wheel)
    licences = run(
        sys.executable, "-m", "piplicenses", "--python", python, "--format=json", "--from=mixed"
    )
    (OUT / "licences.json").write_text(licences, encoding="utf-8")
    yield f"licences   {check_licences(json.loads(licences))} packages, all permissive or weak copyleft"
    sbom = OUT / "memotel.cdx.json"
    run(
        sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible",
        "--pyproject", "pyproject.toml", "--of", "JSON", "-o", sbom, python,
    )  # fmt: skip # one command
    components = json.loads(sbom.read_text(encoding="utf-8"))["components"]
    yield f"sbom       {len(components)} components in {sbom.relative_to(ROOT)} (CycloneDX)"


def main(arguments: Sequence[str]) -> int:
    """Check, or write the lock; return the exit status."""
    try:
        if "--lock" in arguments:
            write_lock()
            return 0
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir(parents=True)
        for said in steps():
            print(said, flush=True)
    except ReleaseError as error:
        print(f"Not fit to be released: {error}", file=sys.stderr)
        return 1
    print("Fit to be released.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
