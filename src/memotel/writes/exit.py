"""A bounded drain when the interpreter exits normally, so that a script's last turns are not lost.

Two moments, one budget (`exit_drain_s`, 5 s): before the interpreter joins threads, while new connections to host names
still work (CPython 3.11: `threading._register_atexit`, private, hence guarded), and once more from `atexit`, for what
the application's own threads wrote in the meantime; then what is left in a memory outbox is counted `dropped`.
Neither runs on SIGKILL, on an unhandled SIGTERM, or after `os._exit`. Children that `multiprocessing` forks end with
`os._exit`, after the first moment: there it is the last one too, and what their own threads write later is refused.
After `os.fork` a child starts with nothing registered of its parent's.
"""

import atexit

# Imported so that its own exit handler was registered before ours and runs after it: a resolver may need its threads.
import concurrent.futures.thread as _threads_first
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

_ = _threads_first


class Watched(Protocol):
    """A flush that has begun."""

    @property
    def done(self) -> "Future[None]":
        """Resolved when there is nothing left to wait for."""
        ...


class Drainable(Protocol):
    """What is drained at exit."""

    @property
    def exit_drain_s(self) -> float:
        """The most that the exit may be held up for it, in seconds."""
        ...

    def start_flush(self, timeout: float) -> Watched | None:
        """Begin a flush without waiting; None where there is nothing to wait for."""
        ...

    def close(self, timeout: float) -> object:
        """Deliver what can be delivered in `timeout` seconds, and account for the rest."""
        ...


@dataclass
class _Exit:
    """What this process drains when it exits; a fork's child begins a new one."""

    pid: int = field(default_factory=os.getpid)
    paths: dict[int, Drainable] = field(default_factory=dict)
    spent_s: float = 0.0

    def flush(self) -> None:
        """Deliver what can be delivered now; take writes on."""
        began = time.monotonic()
        flushes = [(path, _begin(path, self._left_s(path))) for path in [*self.paths.values()]]
        for path, flush in flushes:
            if flush is not None:
                _wait(flush.done, began + self._left_s(path) - time.monotonic())
        self.spent_s += time.monotonic() - began

    def close(self) -> None:
        """Deliver what came since, then account for the rest."""
        self.flush()
        for path in [*self.paths.values()]:
            path.close(0.0)
        self.paths.clear()

    def _left_s(self, path: Drainable) -> float:
        return max(0.0, path.exit_drain_s - self.spent_s)


def _begin(path: Drainable, timeout_s: float) -> Watched | None:
    try:
        return path.start_flush(timeout_s)
    except RuntimeError:
        return None  # its loop is gone: nothing can be delivered any more


def _wait(future: "Future[None]", timeout_s: float) -> None:
    try:
        future.result(max(0.0, timeout_s))
    except TimeoutError:
        pass  # the budget is spent; what is left is accounted for by close()


class _Process:
    """Holds what belongs to this process, told by its id, so that no lock can be left held by a fork."""

    def __init__(self) -> None:
        self.exit: _Exit | None = None
        self.has_handlers = False

    def current(self) -> _Exit:
        if self.exit is None or self.exit.pid != os.getpid():
            self.exit = _Exit()
        return self.exit


_process = _Process()


def register(path: Drainable) -> None:
    """Have `path` drained when this process exits. Cheap where it is registered already."""
    paths = _process.current().paths
    if id(path) in paths:
        return
    paths[id(path)] = path
    if not _process.has_handlers:  # a fork's child inherits the handlers along with this mark
        _process.has_handlers = True
        _before_threads_end(_drain_before_threads_end)
        atexit.register(_close)


def unregister(path: Drainable) -> None:
    """Forget a path that was closed."""
    _process.current().paths.pop(id(path), None)


def drain() -> None:
    """Deliver what can be delivered now, within the exit's budget."""
    _process.current().flush()


def longest_drain_s() -> float:
    """Return the seconds that `drain` may take at most."""
    return max((path.exit_drain_s for path in _process.current().paths.values()), default=0.0)


def _drain_before_threads_end() -> None:
    if _ends_without_exit_handlers():
        _process.current().close()
    else:
        _process.current().flush()


def _ends_without_exit_handlers() -> bool:
    """Whether `multiprocessing` has forked this process, and ends it with `os._exit`."""
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None or multiprocessing.parent_process() is None:
        return False
    method: str | None = getattr(multiprocessing.current_process(), "_start_method", None)
    if method is None:
        method = multiprocessing.get_start_method(allow_none=True)
    return method != "spawn"


def _close() -> None:
    _process.current().close()


def _before_threads_end(function: Callable[[], None]) -> None:
    """Run `function` at exit before threads are joined; where Python has no such hook, `atexit` alone must do."""
    hook = getattr(threading, "_register_atexit", None)
    if hook is None:
        return
    try:
        hook(function)
    except RuntimeError:
        pass  # the interpreter is exiting already: the handler in `atexit` is what is left
