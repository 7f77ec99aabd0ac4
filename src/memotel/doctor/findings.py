"""What the doctor finds: one line each, with what to do about it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from memotel.values import Json


class Level(StrEnum):
    """How much a finding matters, mildest first. Only a problem makes the exit status 1."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Topic(StrEnum):
    """What was looked at."""

    INSTALLATION = "installation"
    VERSIONS = "versions"
    SETTINGS = "settings"
    ROUTE = "route"
    RECALL = "recall"
    WRITE = "write"
    STATE = "state"
    OUTBOX = "outbox"
    TELEMETRY = "telemetry"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        topic: what was looked at.
        subject: of whom: a service, a package, a variable; empty where there is one only.
        level: how much it matters.
        message: what was found, in one line.
        advice: what to do, empty where nothing is to be done.
        data: the same as values; seconds as `_s`.
    """

    topic: Topic
    subject: str
    level: Level
    message: str
    advice: str = ""
    data: Mapping[str, Json] = field(default_factory=dict)

    def as_json(self) -> dict[str, Json]:
        """Return it as a JSON object."""
        return {
            "topic": self.topic.value,
            "subject": self.subject,
            "level": self.level.value,
            "message": self.message,
            "advice": self.advice,
            "data": dict(self.data),
        }


def worst(findings: Iterable[Finding]) -> Level:
    """Return the gravest level, `OK` for no findings."""
    levels = list(Level)
    return max((finding.level for finding in findings), key=levels.index, default=Level.OK)
