"""The one process-wide object: a lazy background loop, the accounts, the counters; aware of forks.

Nothing starts at import or in a constructor; the first call starts the loop. After a fork the child has a fresh,
empty runtime; it never touches what it inherited (the parent shares the epoll descriptor), it only forgets it.
"""

import asyncio
import importlib
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from memotel.counts import Counts
from memotel.errors import OWN_LOOP, MemotelError
from memotel.locks import Callers
from memotel.nudges import Nudges
from memotel.settings import loop_named, read_environment

T = TypeVar("T")


class BackgroundLoop:
    """One asyncio loop on one daemon thread, started by its first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._nudges = Nudges(self.call_soon)

    def start(self) -> asyncio.AbstractEventLoop:
        """Return the running loop, starting it if need be. Thread-safe."""
        loop = self._loop
        if loop is not None:
            return loop
        with self._lock:
            if self._loop is None:
                self._loop = self._launch()
            return self._loop

    def _launch(self) -> asyncio.AbstractEventLoop:
        loop = new_event_loop()
        is_running = threading.Event()
        loop.call_soon(is_running.set)
        self._thread = threading.Thread(target=_run, args=(loop,), name="memotel", daemon=True)
        self._thread.start()
        is_running.wait()
        return loop

    @property
    def is_started(self) -> bool:
        """Whether the loop runs."""
        return self._loop is not None

    def is_current(self) -> bool:
        """Whether the caller is on the background loop's own thread."""
        return self._thread is not None and threading.get_ident() == self._thread.ident

    def call_soon(self, function: Callable[..., object], *args: object) -> None:
        """Run `function` on the loop, soon. Thread-safe."""
        self.start().call_soon_threadsafe(function, *args)

    def call_in_a_moment(self, function: Callable[[], object]) -> None:
        """Run `function` on the loop a moment later; costs the caller next to nothing. Thread-safe."""
        self._nudges.add(function)

    def spawn(self, coroutine: Coroutine[Any, Any, object]) -> None:
        """Run `coroutine` as a task of the loop; its errors are the coroutine's own to handle. Thread-safe.

        The task copies the caller's context. It is never cancelled: whatever it waits for ends by its deadline.
        """
        self.call_soon(self._start_task, coroutine)

    def _start_task(self, coroutine: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run `coroutine` on the loop and return a thread-safe future of its result."""
        future: Future[T] = Future()
        self.spawn(_into(future, coroutine))
        return future

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float) -> T:
        """Run `coroutine` on the loop and wait for it at most `timeout_s`; raises TimeoutError after that."""
        if self.is_current():
            coroutine.close()
            raise MemotelError(OWN_LOOP)
        return self.submit(coroutine).result(timeout_s)


async def _into(future: "Future[T]", coroutine: Coroutine[Any, Any, T]) -> None:
    try:
        future.set_result(await coroutine)
    except BaseException as error:  # noqa: BLE001 # the waiter gets whatever it was, here nothing can
        future.set_exception(error)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped. `SystemExit` in a task ends the run of any loop, but not this one's: all wait for it."""
    while True:
        try:
            loop.run_forever()
        except (KeyboardInterrupt, SystemExit) as error:
            loop.call_exception_handler(
                {"message": "something on memotel's loop tried to end it", "exception": error}
            )
        else:
            return


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a fresh loop for the background thread.

    It is uvloop's where the extra `fast` is installed and `MEMOTEL_LOOP` is not `asyncio`, else a selector loop. The
    application's own loops and policy are left alone.
    """
    if loop_named(read_environment()) != "asyncio":
        try:
            uvloop = importlib.import_module("uvloop")
        except ImportError:
            return asyncio.SelectorEventLoop()
        loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        loop.set_exception_handler(_report)
        return loop
    return asyncio.SelectorEventLoop()


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report what goes wrong on the loop, but for one thing that does not matter.

    uvloop 0.23 calls it fatal when a TLS connection that was closed at its deadline has something left to say.
    """
    error = context.get("exception")
    is_late_tls = isinstance(error, RuntimeError) and "the handler is closed" in str(error)
    if not is_late_tls:
        loop.default_exception_handler(context)


SWEEP_AT = 64
"""From how many accounts on abandoned ones are looked for."""


class InFlight:
    """How many recalls of the process are on their way. Changed on the background loop only."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Runtime:
    """Everything of memotel that lives as long as the process: loop, counters, and the accounts by key."""

    def __init__(self) -> None:
        self.loop = BackgroundLoop()
        self.counts = Counts()
        self.recalls_in_flight = InFlight()
        self.callers = Callers()
        self.accounts: dict[str, Any] = {}
        self.sweep_at = SWEEP_AT
        self.notices: dict[str, Any] = {}
        self.outboxes: dict[Any, Any] = {}
        self.lock = threading.RLock()
        self.pid = os.getpid()

    def account(self, key: str, make: Callable[[], T]) -> T:
        """Return the account of that key, made by `make` where it is new. Thread-safe."""
        with self.lock:
            if key not in self.accounts:
                self.accounts[key] = make()
            found: T = self.accounts[key]
            return found


class _Current:
    """Holds the runtime of this process; a fork replaces it and keeps the old one alive, untouched."""

    def __init__(self) -> None:
        self.runtime = Runtime()
        self.inherited: list[Runtime] = []
        self.after_fork: list[Callable[[], None]] = []

    def renew(self) -> None:
        self.inherited.append(self.runtime)
        self.runtime = Runtime()
        for function in self.after_fork:
            function()


_current = _Current()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_current.renew)


def current() -> Runtime:
    """Return the runtime of this process."""
    return _current.runtime


def on_fork(function: Callable[[], None]) -> None:
    """Have `function` called in every forked child, after its runtime was renewed."""
    _current.after_fork.append(function)
