"""The live table and the summary, from the same counters that Prometheus reads."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from memotel.counts import Count, Counts, Gauge, Labels
from memotel.demo.meter import Meter
from memotel.demo.programme import Phase
from memotel.outcomes import CircuitState, Provider, QuotaState

Snapshot = Mapping[Count | Gauge, Mapping[Labels, float]]

STYLES = {
    "hit": "green", "empty": "blue", "timeout": "dark_orange", "quota": "magenta", "circuit_open": "red",
    "stored": "green", "dropped": "red", "rejected": "red", "ok": "green", "closed": "green", "open": "red",
    "silent": "magenta", "limited": "magenta", "half_open": "yellow",
}  # fmt: skip


def live(phase: Phase, share: float, counts: Counts, meter: Meter) -> RenderableType:
    """Return the whole screen: the phase, what to watch, waits, and a table of both services."""
    shot = counts.snapshot()
    waits = meter.waits()
    head = Table.grid(padding=(0, 2))
    head.add_row(Text(f"{phase.name}", style="bold"), Text(phase.watch, style="dim"))
    waiting = (
        f"{waits.turns} turns · wait for memory p50 {waits.p50_s * 1e3:.0f} ms, "
        f"p99 {waits.p99_s * 1e3:.0f} ms, max {waits.max_s * 1e3:.0f} ms · "
        f"{meter.remembered} of {meter.asked} questions answered from memory"
    )
    body = Group(head, ProgressBar(total=1.0, completed=share), Text(waiting), services(shot))
    return Panel(body, title="memotel demo", border_style="cyan")


def services(shot: Snapshot) -> Table:
    """Return the table of both services, from one snapshot of the counters."""
    table = Table(expand=True, box=None, padding=(0, 1))
    for name in ("service", "recalls", "writes ended", "pending", "quota", "circuit"):
        table.add_column(name)
    for provider in Provider:
        table.add_row(
            provider,
            _tally(shot.get(Count.RECALLS, {}), provider),
            _tally(shot.get(Count.WRITES, {}), provider),
            f"{_sum(shot.get(Gauge.OUTBOX_PENDING, {}), provider):.0f}",
            _states(shot.get(Gauge.QUOTA_STATE, {}), provider, QuotaState),
            _states(shot.get(Gauge.CIRCUIT_STATE, {}), provider, CircuitState),
        )
    return table


def _tally(series: Mapping[Labels, float], provider: Provider) -> Text:
    """Show counts by their last label, the outcome; zeros are left out."""
    sums: dict[str, float] = {}
    for labels, value in series.items():
        if labels[0] == provider and value:
            sums[labels[-1]] = sums.get(labels[-1], 0) + value
    parts = [
        Text(f"{name} {sums[name]:.0f}", style=STYLES.get(name, "yellow")) for name in sorted(sums)
    ]
    return Text("  ").join(parts) if parts else Text("-", style="dim")


def _states(
    series: Mapping[Labels, float], provider: Provider, kinds: type[QuotaState] | type[CircuitState]
) -> Text:
    """Show the state that an account is in; several accounts may be in several."""
    held = [str(kind) for kind in kinds if series.get((provider, kind), 0) > 0]
    return Text("  ").join([Text(name, style=STYLES.get(name, "yellow")) for name in held])


def _sum(series: Mapping[Labels, float], provider: Provider) -> float:
    return sum(value for labels, value in series.items() if labels[0] == provider)


def law(shot: Snapshot, provider: Provider) -> tuple[str, bool]:
    """Return the conservation law of a service's writes as a line, and whether it holds."""
    came = {
        name: _sum(shot.get(name, {}), provider)
        for name in (Count.ACCEPTED, Count.ADOPTED, Count.RESENT)
    }
    ended: dict[str, float] = {}
    for labels, value in shot.get(Count.WRITES, {}).items():
        if labels[0] == provider and value:
            ended[labels[-1]] = ended.get(labels[-1], 0) + value
    handed = _sum(shot.get(Count.HANDED_OVER, {}), provider)
    pending = _sum(shot.get(Gauge.OUTBOX_PENDING, {}), provider)
    holds = sum(came.values()) == sum(ended.values()) + handed + pending
    right = " + ".join(f"{value:.0f} {name}" for name, value in sorted(ended.items()))
    sign = "=" if holds else "!="
    line = f"{provider}: {sum(came.values()):.0f} accepted {sign} {right or '0'} + {pending:.0f} pending"
    return line, holds
