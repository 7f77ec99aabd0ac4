"""What users call on a memory object themselves, whichever framework and service it stands between."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Self

from memotel.client import MemoryClient
from memotel.errors import MemotelError
from memotel.memory.scopes import Scopes, checked_id
from memotel.values import FlushReport, Json, Memories, Scope, WriteAnswer
from memotel.writes.stats import WriteStats


class MemorySurface:
    """One user's long-term memory: one object for any number of agents, threads and event loops.

    Attributes:
        user_id: whose memory it is, unless `scope` says otherwise.
        session_id: the session that turns are filed under; made once where none is given.
    """

    def __init__(self, client: MemoryClient, *, scope: Scope, source: str) -> None:
        self.client = client
        self._source = checked_id("source", source)
        self._scopes = Scopes(scope)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.client!r})"

    def __copy__(self) -> Self:
        """Return itself: a copied agent keeps the same memory."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        """Return itself: a copied agent keeps the same memory, and locks cannot be copied."""
        return self

    @property
    def user_id(self) -> str:
        """The user whose memory it is here and now."""
        return self._scopes.current().user_id

    @property
    def session_id(self) -> str:
        """The session that turns are filed under here and now."""
        return self._scopes.current().session_id

    def scope(
        self, *, user_id: str | None = None, session_id: str | None = None
    ) -> AbstractContextManager[Scope]:
        """Work on another user's or session's memory in this thread or task while the block runs.

        A thread that is started inside the block does not inherit it, and classic AG2's `run` starts one: use
        `initiate_chat` or `a_run`, or start the thread on `contextvars.copy_context().run`.
        """
        return self._scopes.override(user_id, session_id)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Neither recall nor keep anything in this thread or task while the block runs."""
        with self.client.paused():
            yield

    def search(self, query: str, *, limit: int | None = None) -> list[dict[str, Json]]:
        """Return the service's own dicts of what matches `query`, best first. Raises `MemotelError`."""
        with self._translated():
            return _records(self.client.search(self._scopes.current(), query, limit=limit))

    async def asearch(self, query: str, *, limit: int | None = None) -> list[dict[str, Json]]:
        """Return the service's own dicts of what matches `query`, without blocking the loop."""
        with self._translated():
            return _records(await self.client.asearch(self._scopes.current(), query, limit=limit))

    def save(self, text: str) -> dict[str, Json]:
        """Add one text to memory, wait for the service, return its answer. Raises `MemotelError`."""
        return dict(self.remember(text).record)

    async def asave(self, text: str) -> dict[str, Json]:
        """Add one text to memory without blocking the loop; return the service's answer."""
        return dict((await self.aremember(text)).record)

    def remember(self, text: str) -> WriteAnswer:
        """Add one text to memory and wait for the service; the answer says what became of it."""
        with self._translated():
            return self.client.save(self._scopes.current(), text, source=self._source)

    async def aremember(self, text: str) -> WriteAnswer:
        """Add one text to memory without blocking the loop; the answer says what became of it."""
        with self._translated():
            return await self.client.asave(self._scopes.current(), text, source=self._source)

    def flush(self, timeout: float = 10.0, agent: object | None = None) -> FlushReport:
        """Wait at most `timeout` seconds for all writes; of one `agent`'s chats the last messages are kept first."""
        self._sweep(agent)
        return self.client.flush(timeout)

    async def aflush(self, timeout: float = 10.0, agent: object | None = None) -> FlushReport:
        """Do as `flush` does, without blocking the loop."""
        self._sweep(agent)
        return await self.client.aflush(timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Deliver what is pending within `timeout` seconds. Idempotent; never raises."""
        self._sweep(None)
        self.client.close(timeout)

    async def aclose(self, timeout: float = 5.0) -> None:
        """Do as `close` does, without blocking the loop."""
        self._sweep(None)
        await self.client.aclose(timeout)

    def warm(self, timeout: float = 5.0) -> bool:
        """Make ready what a first recall would wait for; return whether it is."""
        return self.client.warm(timeout)

    async def awarm(self, timeout: float = 5.0) -> bool:
        """Make ready what a first recall would wait for, without blocking the loop."""
        return await self.client.awarm(timeout)

    def stats(self) -> WriteStats:
        """Return the books of this account's writes: what was accepted, what became of it, what is pending."""
        return self.client.stats()

    def __enter__(self) -> Self:
        """Use it in a `with` block, which closes it at the end."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        """Use it in an `async with` block, which closes it at the end."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _sweep(self, agent: object | None) -> None:
        """Keep what no hook of the framework saw; nothing, where hooks see everything."""

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise the errors of explicit calls as this memory's users know them."""
        try:
            yield
        except MemotelError as error:
            raised = self._as_raised(error)
            if raised is error:
                raise
            raise raised from error

    def _as_raised(self, error: MemotelError) -> MemotelError:
        return error


def _records(found: Memories) -> list[dict[str, Json]]:
    return [dict(memory.record) for memory in found.items]
