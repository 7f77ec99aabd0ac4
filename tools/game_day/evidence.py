"""What Prometheus saw of each fault: the alerts that fired and when, and what the panel's query answered then."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from prometheus_process import PrometheusServer
from tools.game_day.faults import Cause, GameFault

BOARDS = Path(__file__).parents[2] / "dashboards"
RATE_INTERVAL = "1m"
"""What Grafana puts for `$__rate_interval` at its own default, a scrape each 15 s."""
STEP_S = 5


@dataclass(frozen=True, slots=True)
class Fired:
    """An alert that fired, and after how many seconds of the fault."""

    name: str
    severity: str
    after_s: int


@dataclass(frozen=True, slots=True)
class Answer:
    """One series of the panel's query: its labels, its value when the alert fired, and the most it was before.

    A panel shows the time since the fault began: what happened at first may be over when the circuit is open.
    """

    labels: dict[str, str]
    value: float
    most: float
    most_after_s: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen of one fault."""

    fault: str
    what: str
    alert: Fired
    others: list[Fired]
    board: str
    panel: int
    title: str
    query: str
    answers: list[Answer]
    reading: str


def fired(server: PrometheusServer, job: str, struck_at: float, now: float) -> list[Fired]:
    """Return the alerts of a job that fired since it was struck, the first one first; the most severe form of each."""
    data = server.api(
        "query_range",
        query=f'ALERTS{{job="{job}",alertstate="firing"}}',
        start=str(struck_at),
        end=str(now),
        step=str(STEP_S),
    )
    assert isinstance(data, dict)  # noqa: S101 # the shape of Prometheus' own answer
    first: dict[str, Fired] = {}
    for series in data["result"]:
        labels = series["metric"]
        after_s = round(float(series["values"][0][0]) - struck_at)
        name = labels["alertname"]
        if name not in first or after_s < first[name].after_s:
            first[name] = Fired(name, labels["severity"], after_s)
    return sorted(first.values(), key=lambda each: (each.after_s, each.name))


def evidence_of(
    server: PrometheusServer, fault: GameFault, struck_at: float, now: float
) -> Evidence:
    """Return the evidence of one fault; raises LookupError where its alert did not fire or its panel shows nothing."""
    found = fired(server, fault.name, struck_at, now)
    of_name = [each for each in found if each.name == fault.alert]
    if not of_name:
        raise LookupError(f"{fault.name}: {fault.alert} did not fire, but {found}")
    (alert,) = of_name
    title, query = panel_query(fault.cause)
    asked = interpolated(query, fault.name)
    answers = _answers(server, asked, struck_at, struck_at + alert.after_s)
    if not answers:
        raise LookupError(f"{fault.name}: {title} showed nothing")
    # Where all are zero, that is the finding: no scrape works, no recall finds anything.
    told = [each for each in answers if each.most] or answers
    return Evidence(
        fault.name,
        fault.what,
        alert,
        [each for each in found if each is not alert],
        fault.cause.board,
        fault.cause.panel,
        title,
        asked,
        told,
        fault.reading,
    )


def _answers(server: PrometheusServer, asked: str, struck_at: float, end: float) -> list[Answer]:
    """Return each series that there is at the end."""
    data = server.api(
        "query_range",
        query=asked,
        start=str(struck_at + STEP_S),
        end=str(end),
        step=str(STEP_S),
    )
    assert isinstance(data, dict)  # noqa: S101 # the shape of Prometheus' own answer
    found = []
    for series in data["result"]:
        values = [(float(value), float(at)) for at, value in series["values"]]
        last, last_at = values[-1]
        most, most_at = max(values, key=lambda each: (each[0], -each[1]))
        if last_at > end - 2 * STEP_S:
            found.append(Answer(series["metric"], last, most, round(most_at - struck_at)))
    return found


def panel_query(cause: Cause) -> tuple[str, str]:
    """Return the title of the panel on the committed board, and the query."""
    board = json.loads((BOARDS / f"{cause.board}.json").read_text())
    (panel,) = (each for each in board["panels"] if each["id"] == cause.panel)
    return panel["title"], panel["targets"][cause.query]["expr"]


def interpolated(query: str, job: str) -> str:
    """Return the query as Grafana sends it where the job is chosen and nothing else."""
    for variable, value in (
        ("$__rate_interval", RATE_INTERVAL),
        ("$job", job),
        ("$instance", ".+"),
        ("$provider", ".+"),
    ):
        query = query.replace(variable, value)
    return query


def written(taken: dict[str, object], found: Iterable[Evidence]) -> str:
    """Return the evidence as JSON; `taken` says when and with what."""
    return json.dumps({**taken, "faults": [asdict(each) for each in found]}, indent=2) + "\n"
