"""The frameworks and libraries that memotel is tested with; docs/stability.md has this table too."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from memotel.doctor.findings import Finding, Level, Topic

Release = tuple[int, ...]
Installed = Callable[[str], str | None]
"""Returns the installed release of a distribution, or None."""

_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True, slots=True)
class Supported:
    """A distribution, the releases that are supported, and those that the tests run with.

    Attributes:
        distribution: its name on the package index.
        what: what it is, in a few words.
        extra: memotel's extra that brings it; empty for a dependency of the core.
        first: the first supported release.
        before: the first release that is not supported any more, or empty.
        tested: the releases that the whole test suite of the adapter runs with, oldest first.
    """

    distribution: str
    what: str
    extra: str
    first: str
    before: str
    tested: tuple[str, ...]

    @property
    def requirement(self) -> str:
        """The supported releases as a requirement."""
        return f"{self.distribution}>={self.first}" + (f",<{self.before}" if self.before else "")

    def supports(self, release: str) -> bool:
        """Whether a release is in the supported range."""
        number = numbers(release)
        is_new_enough = number >= numbers(self.first)
        return is_new_enough and (not self.before or number < numbers(self.before))


FRAMEWORKS = (
    Supported("autogen", "AG2, classic agents", "ag2", "0.10.5", "0.15", ("0.10.5", "0.14.1")),
    Supported("ag2", "AG2 1", "ag2_v1", "1.2", "2", ("1.2.1",)),
    Supported("autogen-agentchat", "AutoGen AgentChat", "autogen", "0.7.5", "0.8", ("0.7.5",)),
    Supported("autogen-core", "AutoGen's core", "autogen", "0.7.5", "0.8", ("0.7.5",)),
    Supported(
        "agent-framework-core", "Agent Framework", "agent_framework", "1.23", "2", ("1.23.0",)
    ),
)
LIBRARIES = (
    Supported("httpx", "HTTP", "", "0.28.1", "1", ("0.28.1",)),
    Supported("httpcore", "connections under httpx", "", "1.0.9", "2", ("1.0.9",)),
    Supported("opentelemetry-api", "telemetry", "", "1.38", "", ("1.45.2",)),
)


def numbers(release: str) -> Release:
    """Return the leading numbers of a release without trailing zeros: 1.2.0rc1 is (1, 2)."""
    found = _NUMBERS.match(release)
    parts = [int(part) for part in found[0].split(".")] if found else []
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def installed(distribution: str) -> str | None:
    """Return the installed release of a distribution, or None."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def check_versions(release_of: Installed = installed) -> Iterator[Finding]:
    """Compare what is installed with what is supported and tested; what is not installed is left out."""
    has_framework = False
    for each in (*FRAMEWORKS, *LIBRARIES):
        release = release_of(each.distribution)
        if release is not None:
            has_framework = has_framework or each in FRAMEWORKS
            yield _compared(each, release)
    if not has_framework:
        yield Finding(
            Topic.VERSIONS,
            "",
            Level.WARNING,
            "no agent framework is installed",
            'pip install "memotel[ag2]" (or autogen, ag2_v1, agent_framework)',
        )


def _compared(each: Supported, release: str) -> Finding:
    is_supported, is_tested = each.supports(release), release in each.tested
    tested = ", ".join(each.tested)
    level, note, advice = Level.OK, f"tested with {tested}", ""
    if not is_supported:
        level, note = Level.PROBLEM, f"not supported; tested with {tested}"
        advice = f'pip install "{each.requirement}"'
    return Finding(
        Topic.VERSIONS,
        each.distribution,
        level,
        f"{release}, {note}",
        advice,
        {"release": release, "is_supported": is_supported, "is_tested": is_tested},
    )
