"""What the benchmarks share: workers in processes of their own that take turns, medians, a table, a file of figures.

A figure is printed as it was measured. One that misses its limit is printed as missed, with what is known of why.
"""

import argparse
import importlib
import json
import multiprocessing
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.table import Table

FAST_PACKAGES = ("aiohttp", "httpx_aiohttp", "orjson", "uvloop")
"""What the `fast` extra installs; a default installation has none of them."""

Round = Callable[[int], list[float]]
"""Makes so many calls, one after another, and returns the seconds that each took."""

_SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True, slots=True)
class Options:
    """What every script is called with."""

    json: Path | None
    quick: bool

    def of(self, whole: int, quick: int) -> int:
        """Return `whole`, or `quick` in the mode for trying."""
        return quick if self.quick else whole


def options(description: str | None) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--quick", action="store_true", help="few rounds, to try the script")
    found = parser.parse_args()
    return Options(found.json, found.quick)


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number, and the limit it must reach (at most; with `is_least`, at least)."""

    name: str
    value: float
    unit: str = ""
    limit: float | None = None
    is_least: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        """Return `met`, `MISSED`, or nothing where there is no limit."""
        if self.limit is None:
            return ""
        is_met = self.value >= self.limit if self.is_least else self.value <= self.limit
        return "met" if is_met else "MISSED"

    @property
    def bound(self) -> str:
        """Return the limit as the table shows it."""
        if self.limit is None:
            return ""
        return f"{'>=' if self.is_least else '<='} {self.limit:g} {self.unit}".strip()


def report(
    title: str, figures: Sequence[Figure], asked: Options, remarks: Iterable[str] = ()
) -> None:
    """Print a table of the figures, and write them where `--json` says."""
    if asked.quick:
        title += " (quick: too few rounds to quote)"
    table = Table(title=title, title_justify="left", pad_edge=False)
    for column, justify in (("figure", "left"), ("measured", "right"), ("must be", "right")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type] # two of rich's literals
    table.add_column("")
    table.add_column("note")
    for figure in figures:
        shown = f"{figure.value:,.4g} {figure.unit}".strip()
        table.add_row(figure.name, shown, figure.bound, figure.verdict, figure.note)
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(table)
    for remark in (*remarks, _machine()):
        console.print(remark, markup=False, highlight=False)
    if asked.json is not None:
        rows = [{**asdict(figure), "verdict": figure.verdict} for figure in figures]
        content = {"title": title, "machine": _machine(), "figures": rows}
        asked.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _machine() -> str:
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    return f"Python {platform.python_version()}, {os.cpu_count()} processors, load average {load}"


def spread(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` of the values lie."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def timed(call: Callable[[], object]) -> Round:
    """Return rounds of a synchronous call."""

    def calls(count: int) -> list[float]:
        found = []
        for _ in range(count):
            started = time.perf_counter()
            call()
            found.append(time.perf_counter() - started)
        return found

    return calls


@contextmanager
def as_by_default() -> Iterator[None]:
    """Hide what only the `fast` extra installs, for modules that are imported inside the block."""
    hidden = {name: sys.modules.get(name) for name in FAST_PACKAGES}
    sys.modules.update(dict.fromkeys(FAST_PACKAGES))  # type: ignore[arg-type] # None: not importable
    try:
        yield
    finally:
        for name, module in hidden.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


class Worker:
    """One candidate in a process of its own, so that no candidate's threads and garbage slow another.

    Args:
        module: the benchmark's module, which the process imports by itself.
        prepare: name of a function in it that gets ready and returns a `Round`.
        args: its arguments.
        is_fast: whether the `fast` extra's packages may be seen.
    """

    def __init__(self, module: str, prepare: str, *args: object, is_fast: bool = True) -> None:
        self._pipe, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(
            target=_work, args=(theirs, (module, prepare, args), is_fast), daemon=True
        )
        self._process.start()
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()

    def round(self, task: object, timeout_s: float = 600.0) -> Any:
        """Have the worker make one round, mostly of so many calls; return what it measured."""
        self._pipe.send(task)
        if not self._pipe.poll(timeout_s):
            raise TimeoutError("a benchmark's worker did not answer")
        found = self._pipe.recv()
        if isinstance(found, str):
            raise RuntimeError(found)  # noqa: TRY004 # a worker's fault arrives as its text
        return found


def _work(pipe: Connection, task: tuple[str, str, tuple[Any, ...]], is_fast: bool) -> None:
    with suppress(EOFError, BrokenPipeError), nullcontext() if is_fast else as_by_default():
        _rounds(pipe, *task)


def _rounds(pipe: Connection, module: str, prepare: str, args: tuple[Any, ...]) -> None:
    """Answer each task with what was measured, or with the text of what went wrong."""
    make_round, fault = None, ""
    try:
        make_round = getattr(importlib.import_module(module), prepare)(*args)
    except Exception as error:  # noqa: BLE001 # the one who asks must learn why nothing comes
        fault = f"{type(error).__name__}: {error}"
    while True:
        task = pipe.recv()
        try:
            pipe.send(fault if make_round is None else make_round(task))
        except Exception as error:  # noqa: BLE001 # as above
            pipe.send(f"{type(error).__name__}: {error}")


def interleaved(
    workers: dict[str, Worker], *, rounds: int, calls: int, warm_up: int = 200
) -> dict[str, list[float]]:
    """Return for each worker the median of each of its rounds, in seconds; the workers take turns."""
    for worker in workers.values():
        worker.round(warm_up)
    medians: dict[str, list[float]] = {name: [] for name in workers}
    for number in range(rounds):
        order = list(workers.items())
        if number % 2:
            order.reverse()
        for name, worker in order:
            medians[name].append(statistics.median(worker.round(calls)))
    return medians


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median over the rounds of ours divided by theirs of the same round."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
