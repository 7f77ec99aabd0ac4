"""docs/game-day.md from the recorded evidence: nothing on it is written by hand but what stands here.

`python -m tools.game_day.page` writes it again from docs/game-day.json; with `--check` it fails where it is not fresh.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
RECORD = DOCS / "game-day.json"
PAGE = DOCS / "game-day.md"
HEAD = """\
# A game day

Ten faults, each on agents of its own, under one Prometheus {prometheus} with the committed rules as they are: no window or hold was
shortened. The agents are the demo's (AG2 with MemorySync, AutoGen with Rekall: {pace}), the services
the development server. They work for {healthy_s:.0f} s, then the fault strikes and stays; metrics are scraped each {scrape_s} s. For each
fault this page says which alert fired after what time, and what the panel showed when it fired: the value at that moment, and
where it had been higher since the fault began, the highest.

Two things are not as in production. A day cannot be waited for: the hit ratio of the day before, against which SilentAmnesia
compares, was measured in a healthy run ({yesterday}) and written into Prometheus' history; and its agents
begin with the fault, as after a release. And burn-rate windows hold minutes of history instead of hours, so that a fault weighs
more in them: after a long healthy time the same alerts take a few minutes longer.

Written by `make game-day` from [the record](game-day.json) of the run of {taken}.

| fault | alert | severity | fired after |
|---|---|---|---|
"""
TAIL = """\
## What no fault shows here

CircuitOpen fires where recalls hang. Where they fail at once (refuse, errors) circuits stay closed at this pace: one opens after
three timeouts in a row, or when half of at least ten recalls in ten seconds fail, and each account makes fewer. That costs no time.

UnaccountedWrites cannot fire here: it says that accepted writes are neither finished nor waiting, which is a defect of memotel's own
books, not a state of a service. Through all ten faults `abs(memotel_writes_unaccounted)` was at most {unaccounted:g} in any scrape.
Its rule is tested with made-up series, as are the slow burn-rate windows (`dashboards/rules/tests`). OutboxNearFull,
OutboxDegraded and MemoryDisabled are raised by real processes in the tests: a small outbox in an outage, a full disk, a switch.
"""


def page(record: Mapping[str, Any]) -> str:
    """Return the whole page."""
    yesterday = ", ".join(f"{name} {share:.2f}" for name, share in record["yesterday"].items())
    head = HEAD.format(**{**record, "yesterday": yesterday})
    faults: Iterable[Mapping[str, Any]] = record["faults"]
    rows = "".join(_row(fault) for fault in faults)
    parts = "\n".join(_part(fault) for fault in faults)
    return f"{head}{rows}\n{parts}\n{TAIL.format(**record)}"


def _row(fault: Mapping[str, Any]) -> str:
    alert = fault["alert"]
    anchor = f"[{fault['fault']}](#{fault['fault']})"
    runbook = f"[{alert['name']}](../dashboards/runbooks/{alert['name']}.md)"
    return f"| {anchor} | {runbook} | {alert['severity']} | {_time(alert['after_s'])} |\n"


def _part(fault: Mapping[str, Any]) -> str:
    others = ", ".join(f"{each['name']} {_time(each['after_s'])}" for each in fault["others"])
    shown = "\n".join(map(_answer, fault["answers"]))
    also = f" Also: {others}." if others else ""
    return f"""\
## {fault["fault"]}

{fault["what"]} **{fault["alert"]["name"]}** after {_time(fault["alert"]["after_s"])}.{also}

Panel *{fault["title"]}* (`/d/{fault["board"]}?viewPanel={fault["panel"]}`): {fault["reading"]}.

```promql
{fault["query"]}
```

```text
{shown}
```
"""


def _answer(answer: Mapping[str, Any]) -> str:
    shown = f"{_labels(answer['labels'])} {answer['value']:.4g}"
    if answer["most"] <= answer["value"]:
        return shown
    return f"{shown}    (at most {answer['most']:.4g}, after {_time(answer['most_after_s'])})"


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ", ".join(f'{name}="{value}"' for name, value in sorted(labels.items())) + "}"


def _time(seconds: int) -> str:
    return f"{seconds // 60} min {seconds % 60:02d} s" if seconds >= 60 else f"{seconds} s"


def main(arguments: Sequence[str]) -> int:
    """Return the exit status."""
    text = page(json.loads(RECORD.read_text()))
    if "--check" not in arguments:
        PAGE.write_text(text)
        return 0
    is_fresh = PAGE.read_text() == text
    print("the page is as recorded" if is_fresh else "docs/game-day.md is not fresh")
    return int(not is_fresh)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
