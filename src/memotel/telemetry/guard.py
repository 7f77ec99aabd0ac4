"""Telemetry that fails is counted and said once; it never breaks the call that it watches."""

import functools
import logging
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

EVENT = "telemetry.failed"

logger = logging.getLogger("memotel.telemetry")


class Faults:
    """Errors of telemetry in this process. `count` only grows; the first one is logged."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def note(self, error: Exception, place: str) -> None:
        """Count an error; log its type and where it came from, only the first time. Thread-safe."""
        with self._lock:
            self.count += 1
            is_first = self.count == 1
        if is_first:
            logger.warning(
                "%s: in %s with %s; calls go on, further failures are only counted",
                EVENT,
                place,
                type(error).__qualname__,
                extra={"event": EVENT},
            )


faults = Faults()


def note(error: Exception, place: str) -> None:
    """Note an error of telemetry; for where a call of `guarded`'s wrapper would be felt."""
    faults.note(error, place)


def guarded(function: Callable[P, R]) -> Callable[P, R | None]:
    """Make `function` return None where it would raise an `Exception`."""

    @functools.wraps(function)
    def safe(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 # exporters and processors may raise anything
            faults.note(error, function.__qualname__)
            return None

    return safe
