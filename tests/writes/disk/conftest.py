"""Processes that keep their writes on disk, on a clock of their own."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from outbox_process import Process, Start
from virtual_loop import VirtualLoop


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    with closing(VirtualLoop()) as loop:
        yield loop


@pytest.fixture
def start(tmp_path: Path, loop: VirtualLoop) -> Start:
    def begin(*given: object, **options: object) -> Process:
        return Process(tmp_path, loop, *given, **options)  # type: ignore[arg-type] # a script and options

    return begin
