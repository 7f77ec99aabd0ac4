"""Rows 3 and 4: what the processes themselves run short of, and whether their metrics can be trusted."""

from dashboards.generator import colours
from dashboards.generator.board import Row
from dashboards.generator.colours import GOOD, WARN
from dashboards.generator.panels import Look, Query, Text, Tile, lines, stat_panel, timeline
from dashboards.generator.promql import counter, gauge, rate, scraped, total
from dashboards.generator.protection.common import in_flight
from grafana_foundation_sdk.models import units

from memotel.counts import Count, Gauge
from memotel.telemetry import names

_BUILDS = total(names.BUILD_INFO, "instance", "version", how="max")

PROCESSES = Row(
    "Are the processes well?",
    (
        in_flight(21, width=8),
        Tile(
            22,
            lines(
                Text(
                    "Clients renewed",
                    "HTTP clients replaced, per second, because requests on them outlived their deadlines.",
                    "anything that goes on: something below HTTP hangs and does not heed a timeout.",
                    "look at name resolution and proxies of that host; the renewal itself keeps replies going.",
                ),
                Look(units.OpsPerSecond),
                Query(rate(counter(Count.CLIENTS_RENEWED), "provider"), "{{provider}}"),
            ),
            width=8,
        ),
        Tile(
            23,
            lines(
                Text(
                    "Switched off",
                    "Processes in which MEMOTEL_DISABLED turns recall or writes off, by part.",
                    "1 or more, unless somebody did it on purpose: those agents run without memory.",
                    "look for MEMOTEL_DISABLED in the environment of the process.",
                    ("MemoryDisabled",),
                ),
                Look(units.Short, ((None, GOOD), (1, WARN))),
                Query(total(gauge(Gauge.DISABLED), "part"), "{{part}}"),
            ),
            width=8,
        ),
    ),
)

EXPORTERS = Row(
    "Can these numbers be trusted?",
    (
        Tile(
            31,
            timeline(
                Text(
                    "Scrapes",
                    "Whether Prometheus could read the metrics of each process.",
                    "unreachable: every other panel is blind for that process.",
                    "is it running, and is its endpoint bound to an address that Prometheus reaches?",
                    ("TelemetryAbsent",),
                ),
                colours.SCRAPES,
                Query(f"max by (instance) ({scraped('up')})", "{{instance}}"),
                no_value="no processes",
            ),
            width=8,
            height=7,
        ),
        Tile(
            32,
            lines(
                Text(
                    "Scrape duration",
                    "How long a process takes to show its metrics.",
                    "beyond 0.5 s: the process is starved of CPU, or shows far more than memotel's series.",
                    "look at the CPU of that process, then at *Samples of a scrape*.",
                ),
                Look(units.Seconds),
                Query(f"max by (instance) ({scraped('scrape_duration_seconds')})", "{{instance}}"),
            ),
            width=5,
            height=7,
        ),
        Tile(
            33,
            lines(
                Text(
                    "Samples of a scrape",
                    "Samples that one scrape brings, all metrics of the process together.",
                    "it rises without end: some label has too many values. memotel's own are closed sets.",
                    "find the metric with `topk(5, count by (__name__) ({instance=...}))`.",
                ),
                Look(units.Short),
                Query(f"max by (instance) ({scraped('scrape_samples_scraped')})", "{{instance}}"),
            ),
            width=5,
            height=7,
        ),
        Tile(
            34,
            stat_panel(
                Text(
                    "Processes by version",
                    "Processes that show memotel's metrics, by the version of memotel that they run.",
                    "two versions long after a deployment, or fewer processes than there should be.",
                    "restart what was left behind; see *Scrapes* for what is missing.",
                    ("TelemetryAbsent",),
                ),
                Look(units.Short, ((None, "blue"),)),
                Query(f"count by (version) ({_BUILDS})", "{{version}}", is_instant=True),
                no_value="none",
                is_named=True,
            ),
            width=6,
            height=7,
        ),
    ),
)
