"""Clients that write, the turns that they write, and where those wait."""

import argparse
import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import Options
from memotel.client import MemoryClient
from memotel.outcomes import Adapter, Provider, Speaker
from memotel.settings import resolve
from memotel.values import Scope, Turn

MEMORY = "memory"
SQLITE = "sqlite"
OUTBOXES = (MEMORY, SQLITE)

_numbers = itertools.count(1)


def options(description: str | None) -> tuple[Options, tuple[str, ...]]:
    """Read the command line; return the options, and the outboxes to measure."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--quick", action="store_true", help="few rounds, to try the script")
    parser.add_argument("--outbox", choices=OUTBOXES, help="measure one outbox alone")
    found = parser.parse_args()
    outboxes = OUTBOXES if found.outbox is None else (found.outbox,)
    return Options(found.json, found.quick), outboxes


@contextmanager
def outbox_at(kind: str) -> Iterator[str]:
    """Give the setting of an outbox of that kind, in a fresh directory where it needs one."""
    if kind == MEMORY:
        yield MEMORY
        return
    with tempfile.TemporaryDirectory(prefix="memotel-outbox-") as directory:
        yield f"sqlite://{directory}"


def fresh_key(provider: Provider = Provider.MEMORYSYNC) -> str:
    """Return a key that nobody has used: an account of its own, here and at the service."""
    return f"{'rk' if provider is Provider.REKALL else 'ms'}_{next(_numbers)}"


def client_at(
    url: str, outbox: str, *, provider: Provider = Provider.MEMORYSYNC, **given: Any
) -> MemoryClient:
    """Return a client of a fresh account."""
    settings = {"api_key": fresh_key(provider), "outbox": outbox, **given}
    return MemoryClient(resolve(provider, Adapter.DIRECT, url=url, **settings))


def turns_of(count: int, scopes: int, label: str = "talk") -> list[Turn]:
    """Return a person's turns, each of words of its own, dealt out to so many sessions."""
    return [
        Turn(
            Scope("ada", f"{label} {number % scopes}"),
            Speaker.HUMAN,
            f"Of {label} I want you to know fact number {number}.",
        )
        for number in range(count)
    ]
