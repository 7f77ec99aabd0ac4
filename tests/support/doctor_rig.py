"""What `memotel doctor --json` printed, for its tests."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

KEY = "rk_doctor-0123456789abcdef"
Item = dict[str, Any]


@dataclass(frozen=True)
class Examined:
    """What the command printed as JSON, and its exit status."""

    status: int
    text: str
    findings: list[Item]

    def of(self, topic: str, subject: str | None = None) -> list[Item]:
        return [
            each
            for each in self.findings
            if each["topic"] == topic and subject in (None, each["subject"])
        ]

    def one(self, topic: str, subject: str | None = None) -> Item:
        (found,) = self.of(topic, subject)
        return found

    def problems(self) -> list[str]:
        return [str(each["topic"]) for each in self.findings if each["level"] == "problem"]


Doctor = Callable[..., Examined]
