"""The one place where errors inside a hook end: counted, logged once per place, never raised into a chat."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from memotel.client import MemoryClient
from memotel.counts import Count
from memotel.outcomes import Outcome

logger = logging.getLogger("memotel.ag2")


class Guard:
    """Keeps one capability's own faults away from its agents. `CancelledError` and interrupts pass."""

    def __init__(self, client: MemoryClient) -> None:
        self._client = client
        self._logged: set[str] = set()

    @contextmanager
    def keep_chat_alive(self, place: str) -> Iterator[None]:
        """Run a hook's work; whatever fails in it is recorded as `internal_error`, and the chat goes on."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 # a hook that raises would abort the chat
            self._record(place, error)

    def _record(self, place: str, error: Exception) -> None:
        client = self._client
        client.counts.add(Count.RECALLS, client.provider, client.adapter, Outcome.INTERNAL_ERROR)
        if place not in self._logged:
            self._logged.add(place)
            kind = type(error).__name__
            logger.error("memory %s failed inside memotel (%s); the chat goes on", place, kind)
            logger.debug("memory %s failed", place, exc_info=error)
