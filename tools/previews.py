"""`python tools/previews.py`: pictures of the dashboards, from a Prometheus that watches the demo, into docs/dashboards.

Needs prometheus, chromium, the fonts Inter (Debian: fonts-inter), and node with `npm ci` done in tools/dashboard-preview. Takes about five minutes, most of
them the demo's. Fails on a script error, an empty panel, or panels that overlap.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from demo_process import running_demo
from prometheus_process import PrometheusServer, running_prometheus

ROOT = Path(__file__).parents[1]
BOARDS = ROOT / "dashboards"
RULES = BOARDS / "rules" / "memotel.rules.yml"
RENDER = Path(__file__).parent / "dashboard-preview" / "render.mjs"
RANGE_S = 240
SCRAPE_S = 2
RENDER_TIMEOUT_S = 300
# The programme begins well and ends well; the picture is taken where recalls are answered again.
WELL = "sum(rate(memotel_recalls_total{outcome=~'hit|empty'}[10s])) / sum(rate(memotel_recalls_total[10s])) > 0.9"


def main(arguments: list[str]) -> int:
    """Return the renderer's exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "dashboards")
    parser.add_argument("--range", type=int, default=RANGE_S, help="seconds of the demo to show")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        every = f"{SCRAPE_S}s"
        with (
            running_demo(folder) as address,
            running_prometheus(
                folder / "p", [address], scrape_interval=every, rules=RULES
            ) as server,
        ):
            print(f"watching the demo for {given.range} s ...", flush=True)
            threading.Event().wait(given.range)
            return _render(server, given.out, given.range)


def _render(server: PrometheusServer, out: Path, range_s: int) -> int:
    end = _last_good_moment(server)
    asked = {"prom": server.url, "to": end, "range": range_s, "scrape": SCRAPE_S, "out": out}
    options = [text for name, value in asked.items() for text in (f"--{name}", str(value))]
    boards = [str(path) for path in sorted(BOARDS.glob("*.json"))]
    command = ["node", str(RENDER), *options, *boards]
    done = subprocess.run(command, timeout=RENDER_TIMEOUT_S, check=False)  # noqa: S603 # our own script and arguments
    _shrink(sorted(out.glob("memotel-*.png")))
    return done.returncode


def _shrink(pictures: list[Path]) -> None:
    """Reduce the pictures to 256 colours, where pngquant is installed: a third of the bytes, and no difference to see."""
    pngquant = shutil.which("pngquant")
    if pngquant is not None and pictures:
        command = [pngquant, "--force", "--ext", ".png", "256", *map(str, pictures)]
        subprocess.run(command, timeout=RENDER_TIMEOUT_S, check=True)  # noqa: S603 # arguments of our own


def _last_good_moment(server: PrometheusServer) -> int:
    """Return the last second of the last programme in which nearly all recalls were answered; now, if there was none."""
    now = int(time.time()) - SCRAPE_S
    data = server.api("query_range", query=WELL, start=str(now - 60), end=str(now), step="1")
    assert isinstance(data, dict)  # noqa: S101 # the shape of Prometheus' own answer
    values = [at for series in data["result"] for at, _ in series["values"]]
    return int(max(values, default=now))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
