"""Whether the import names `ag2_memorysync` and `rekall_autogen` are memotel's own.

The PyPI package `ag2-memorysync` installs the first of them too: after memotel it replaces our files without a word,
and its removal leaves an empty folder behind.
"""

import base64
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    PackagePath,
    distribution,
    packages_distributions,
)
from importlib.util import find_spec
from pathlib import Path

FACADES = ("ag2_memorysync", "rekall_autogen")
OWNER = "memotel"
MARK = b"from memotel."
EVENT = "installation.foreign"
REPAIR = "pip install --force-reinstall --no-deps memotel"

logger = logging.getLogger("memotel.installation")
_checked: list[bool] = []


class FacadeState(StrEnum):
    """Whose an import name is."""

    OURS = "ours"
    FOREIGN = "foreign"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Facade:
    """An import name of ours as it is installed.

    Attributes:
        name: the import name.
        state: whose it is.
        rivals: other distributions that installed files under it.
    """

    name: str
    state: FacadeState
    rivals: tuple[str, ...] = ()


def glance(name: str) -> FacadeState:
    """Say whose an import name is by its first file alone; cheap, and imports nothing."""
    try:
        spec = find_spec(name)
    except ValueError:  # a module put in by hand, without a spec
        return FacadeState.FOREIGN
    if spec is None or spec.origin is None:
        return FacadeState.MISSING
    try:
        text = Path(spec.origin).read_bytes()
    except OSError:  # not a plain file: an archive, a frozen application
        return FacadeState.OURS
    return FacadeState.OURS if MARK in text else FacadeState.FOREIGN


def complaint() -> str:
    """Say what is wrong with our import names and what to do, in one line; empty where nothing is."""
    wrong = [f"{name} is {state}" for name in FACADES if (state := glance(name)) in _WRONG]
    if not wrong:
        return ""
    return (
        f"{' and '.join(wrong)}: another package installed that import name or took it away; "
        f"uninstall ag2-memorysync, then {REPAIR}"
    )


def warn_once() -> None:
    """Log what is wrong with our import names, the first time that this is called in a process; never raises."""
    if not _checked:
        _checked.append(True)
        text = complaint()
        if text:
            logger.warning("%s: %s", EVENT, text, extra={"event": EVENT})


def forget() -> None:
    """Have the next `warn_once` look again; for tests."""
    _checked.clear()


def inspected() -> tuple[Facade, ...]:
    """Compare the installed files of our import names with memotel's record of them; takes about a second."""
    owners = packages_distributions()
    return tuple(
        Facade(
            name,
            max((_recorded(name), glance(name)), key=_GRAVITY.index),
            tuple(sorted(set(owners.get(name, ())) - {OWNER})),
        )
        for name in FACADES
    )


_WRONG = frozenset({FacadeState.FOREIGN, FacadeState.MISSING})
_GRAVITY: Sequence[FacadeState] = (FacadeState.OURS, FacadeState.MISSING, FacadeState.FOREIGN)


def _recorded(name: str) -> FacadeState:
    """Say whose the files are by their hashes; an editable install has no record of them."""
    files = [path for path in _files(OWNER) if path.parts[0] == name and path.suffix == ".py"]
    return max((_compared(path) for path in files), key=_GRAVITY.index, default=FacadeState.OURS)


def _files(owner: str) -> Sequence[PackagePath]:
    try:
        found: Distribution = distribution(owner)
    except PackageNotFoundError:
        return ()
    return found.files or ()


def _compared(path: PackagePath) -> FacadeState:
    if path.hash is None:
        return FacadeState.OURS
    try:
        content = Path(str(path.locate())).read_bytes()
    except OSError:
        return FacadeState.MISSING
    digest = hashlib.new(path.hash.mode, content).digest()
    found = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return FacadeState.OURS if found == path.hash.value else FacadeState.FOREIGN
