"""The one place where errors inside a hook end: counted, logged, never raised into a chat."""

from collections.abc import Iterator
from contextlib import contextmanager

from memotel.client import MemoryClient
from memotel.counts import Count
from memotel.errors import MemotelError
from memotel.notices import Event, fault_of
from memotel.outcomes import Outcome, RefusalReason


class Guard:
    """Keeps one memory's own faults away from its agents. `CancelledError` and interrupts pass."""

    def __init__(self, client: MemoryClient) -> None:
        self._client = client

    @contextmanager
    def keep_recalling(self) -> Iterator[None]:
        """Show or withdraw memory; whatever fails is a recall that ended in `internal_error`."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 # a hook that raises would abort the chat
            client = self._client
            labels = (client.provider, client.adapter, Outcome.INTERNAL_ERROR)
            client.counts.add(Count.RECALLS, *labels)
            self._log(Event.HOOK_RECALL_FAILED, error)

    @contextmanager
    def keep_writing(self) -> Iterator[None]:
        """Hand over what was said; whatever fails is a write that was refused.

        The write path counts its own refusals (`on_full="raise"`), so an error of memotel's is only logged.
        """
        try:
            yield
        except MemotelError as error:
            self._log(Event.HOOK_WRITE_FAILED, error)
        except Exception as error:  # noqa: BLE001 # a hook that raises would abort the chat
            client = self._client
            client.counts.add(Count.REFUSED, client.provider, RefusalReason.INTERNAL_ERROR)
            self._log(Event.HOOK_WRITE_FAILED, error)

    def _log(self, event: Event, error: Exception) -> None:
        self._client.notices.say(event, f"a hook failed ({fault_of(error)}); the chat goes on")
