"""SIGTERM as a normal end: a process that dies of it runs no exit handlers, and as PID 1 it does not even die."""

import signal
import threading
from types import FrameType

from memotel.errors import ConfigurationError
from memotel.writes import exit as at_exit

EXIT_STATUS = 128 + signal.SIGTERM


def drain_on_sigterm() -> None:
    """Deliver pending writes when this process gets SIGTERM, for at most `exit_drain_timeout`; then end as before.

    A handler that was there before is called after the drain. Where there was none the process ends with
    `SystemExit(143)`, so that its own exit handlers run too; as PID 1 of a container it ends as well. Call it once,
    from the main thread, after other libraries have set their handlers. A second call changes nothing.

    Raises:
        ConfigurationError: not called from the main thread, the only one that may set handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        raise ConfigurationError("drain_on_sigterm() must be called from the main thread")
    previous = signal.getsignal(signal.SIGTERM)
    if isinstance(previous, _Handler):
        return
    signal.signal(signal.SIGTERM, _Handler(previous))


class _Handler:
    """Drains, then does what was done before."""

    def __init__(self, previous: object) -> None:
        self._previous = previous

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if callable(self._previous):
            # The interrupted main thread may hold a lock that the drain needs, so another thread waits for it, for
            # a bounded time.
            drain = threading.Thread(target=at_exit.drain, name="memotel-sigterm", daemon=True)
            drain.start()
            drain.join(at_exit.longest_drain_s())
            self._previous(number, frame)
        elif self._previous is not signal.SIG_IGN:
            raise SystemExit(EXIT_STATUS)
