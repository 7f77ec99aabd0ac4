"""The values that rules are made of: a panel to open, a recording rule, an alert, a group."""

from dataclasses import dataclass, field
from enum import StrEnum

COMPONENT = "memotel"
"""The label `component` of every alert, by which it is routed: alert names alone are not unlike others'."""

RUNBOOKS = "dashboards/runbooks"
"""The folder of the runbooks in this repository; every alert names its page there, wherever that is published or not."""


class Severity(StrEnum):
    """What an alert asks of people: critical, act now; warning, act today."""

    CRITICAL = "critical"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Panel:
    """The panel that shows an alert's cause: the board's uid, the panel's id (never changed) and its title."""

    board: str
    id: int
    title: str

    def path(self, labels: tuple[str, ...]) -> str:
        """Return the path in Grafana, narrowed to the alert's own labels."""
        narrowed = "".join(
            f"&var-{label}={{{{ $labels.{label} | urlquery }}}}"
            for label in ("job", "instance", "provider")
            if label in labels
        )
        return f"/d/{self.board}?viewPanel={self.id}{narrowed}"


@dataclass(frozen=True, slots=True)
class Record:
    """A recording rule."""

    name: str
    expression: str
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Alert:
    """An alerting rule.

    Attributes:
        name: also the name of its page in `dashboards/runbooks`.
        expression: PromQL; its result is the alert's value.
        by: the labels that the expression keeps.
        hold: how long it must be true, such as `5m`.
        severity: what it asks of people.
        summary: one line; what happens.
        description: what it means for whom, with the value.
        panel: where to look first.
        labels: more labels, beside the severity and the component.
    """

    name: str
    expression: str
    by: tuple[str, ...]
    hold: str
    severity: Severity
    summary: str
    description: str
    panel: Panel
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def all_labels(self) -> dict[str, str]:
        """The labels that Prometheus adds to those of the expression."""
        return {"severity": self.severity.value, "component": COMPONENT, **self.labels}

    def annotations(self, runbooks_at: str | None) -> dict[str, str]:
        """Return what a person reads: the text, the page, the panel.

        `runbooks_at` is where the runbooks are published. Without it there is no `runbook_url`, which Grafana and
        Alertmanager's receivers show as a link: a link that leads nowhere is worse than none to somebody in a hurry.
        """
        page = f"{self.name}.md"
        published = {"runbook_url": f"{runbooks_at.rstrip('/')}/{page}"} if runbooks_at else {}
        return {
            "summary": self.summary,
            "description": self.description,
            "runbook": f"{RUNBOOKS}/{page}",
            **published,
            "dashboard": self.panel.path(self.by),
            "dashboard_uid": self.panel.board,
            "panel_id": str(self.panel.id),
        }


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that are evaluated one after the other, every `interval`."""

    name: str
    interval: str
    rules: tuple[Record | Alert, ...]
