"""The development server in a process of its own: what a write's benchmark believes, and what it breaks."""

import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from operator import attrgetter
from typing import Any

from memotel.devserver import DevServer, Fault, Item

PATIENCE_S = 600.0


class Service:
    """The server as a benchmark's process sees it."""

    def __init__(self, url: str, pipe: Connection) -> None:
        self.url = url
        self._pipe = pipe

    def ask(self, name: str, *args: Any) -> Any:
        """Call a method of `DevServer` by its name, such as `faults.set`; return what it returns."""
        self._pipe.send((name, args))
        if not self._pipe.poll(PATIENCE_S):
            raise TimeoutError("the development server did not answer")
        found = self._pipe.recv()
        if isinstance(found, str):
            raise RuntimeError(found)  # noqa: TRY004 # the server's fault arrives as its text
        return found

    def fail(self, *faults: Fault) -> None:
        """Put these faults in force instead of all others."""
        self.ask("faults.set", *faults)

    def items(self) -> tuple[Item, ...]:
        """Return what is stored."""
        found: tuple[Item, ...] = self.ask("items")
        return found

    def wait_for(self, items: int, timeout_s: float) -> float:
        """Wait until so many items are stored, for `timeout_s` seconds at most; return how long that took."""
        began = time.monotonic()
        self.ask("wait_for", items, timeout_s)
        return time.monotonic() - began

    def stored_once(self, texts: list[str]) -> int:
        """Return how many of the texts are stored, each exactly once. Who said them may stand before them."""
        found = Counter(item.text.rpartition(": ")[2] for item in self.items())
        return sum(found[text] == 1 for text in texts)


@contextmanager
def service() -> Iterator[Service]:
    """Run the server while the block runs."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Service(ours.recv(), ours)
    finally:
        ours.close()
        process.join(10)
        if process.is_alive():
            process.kill()


def _serve(pipe: Connection) -> None:
    with DevServer() as server:
        pipe.send(server.url)
        while True:
            try:
                name, args = pipe.recv()
            except EOFError:
                return
            try:
                pipe.send(_do(server, name, args))
            except Exception as error:  # noqa: BLE001 # whoever asks must learn of it
                pipe.send(f"{type(error).__name__}: {error}")


def _do(server: DevServer, name: str, args: tuple[Any, ...]) -> object:
    if name == "wait_for":
        _wait_for(server, *args)
        return None
    found = attrgetter(name)(server)(*args)
    return None if found is server else found


def _wait_for(server: DevServer, items: int, timeout_s: float) -> None:
    until = time.monotonic() + timeout_s
    while server.state().stored < items and time.monotonic() < until:
        time.sleep(0.1)  # the server counts all it has each time
