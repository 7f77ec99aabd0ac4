"""What every memory capability of AG2 does, whichever service is behind it."""

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Literal, Self

from memotel.ag2.framework import histories
from memotel.ag2.guard import Guard
from memotel.ag2.hooks import Hooks
from memotel.ag2.persistence import KeptTurns, Persistence
from memotel.ag2.recollection import Recollections
from memotel.ag2.scopes import Scopes, checked_id, new_session_id
from memotel.ag2.template import ContextTemplate
from memotel.client import MemoryClient
from memotel.config import check
from memotel.errors import MemotelError
from memotel.outcomes import Speaker
from memotel.values import FlushReport, Json, Memories, Scope, WriteAnswer
from memotel.writes.path import WriteStats

Capture = Literal["both", "received", "sent"]
_CAPTURES = ("both", "received", "sent")


class Capability:
    """Long-term memory for AG2 agents: one object for any number of agents, threads and event loops.

    Attributes:
        user_id: whose memory it is, unless `scope` says otherwise.
        session_id: the session that turns are filed under; made once where none is given.
    """

    def __init__(
        self,
        client: MemoryClient,
        *,
        scope: Scope,
        template: str,
        capture: str,
        persist_roles: Collection[str],
        source: str,
    ) -> None:
        self.client = client
        self._source = checked_id("source", source)
        self._scopes = Scopes(scope)
        context = ContextTemplate(template)
        guard = Guard(self.client)
        persistence = Persistence(
            self.client,
            self._scopes,
            context,
            kept=_kept_turns(capture, persist_roles),
            source=self._source,
        )
        self._guard = guard
        self._persistence = persistence
        recollections = Recollections(self.client, self._scopes, context)
        self._hooks = Hooks(recollections, persistence, guard)

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

    def add_to_agent(self, agent: object) -> None:
        """Give an agent this memory. Idempotent; opens and starts nothing.

        Raises TypeError for an object without `register_hook`.
        """
        self._hooks.add_to(agent)

    def remove_from_agent(self, agent: object) -> None:
        """Take this memory away again; the agent is as it was. Idempotent."""
        self._hooks.remove_from(agent)

    def scope(
        self, *, user_id: str | None = None, session_id: str | None = None
    ) -> AbstractContextManager[Scope]:
        """Work on another user's or session's memory in this thread or task while the block runs.

        A thread that is started inside the block (AG2's `run` starts one) does not inherit it.
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
        """Keep the last message of chats that ended, then wait at most `timeout` seconds for all writes.

        No hook of AG2's sees the last message of a chat. With `agent` (either side of the chat) only its chats are
        read; without, those of every agent of this memory, unless `scope` was used: name the agent then.
        """
        self._sweep(agent)
        return self.client.flush(timeout)

    async def aflush(self, timeout: float = 10.0, agent: object | None = None) -> FlushReport:
        """Do as `flush` does, without blocking the loop."""
        self._sweep(agent)
        return await self.client.aflush(timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Keep the last messages and deliver what is pending within `timeout` seconds. Idempotent; never raises."""
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
        only_known = agent is None and self._scopes.is_overridden
        for attached in self._attached_in_chats_of(agent):
            with self._guard.keep_writing():
                self._persistence.sweep(attached, only_known=only_known)

    def _attached_in_chats_of(self, agent: object | None) -> list[object]:
        """Return the agents of this memory that `agent` is or has talked with; all of them for None."""
        attached = self._hooks.agents
        if agent is None or agent in attached:
            return attached if agent is None else [agent]
        return [known for known in attached if agent in histories(known)]

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise the errors of explicit calls as this capability's users know them."""
        try:
            yield
        except MemotelError as error:
            raised = self._as_raised(error)
            if raised is error:
                raise
            raise raised from error

    def _as_raised(self, error: MemotelError) -> MemotelError:
        return error


def scope_of(user_id: str, session_id: str | None) -> Scope:
    """Return the scope of a capability, with a session of its own where none is given."""
    if session_id is None:
        return Scope(user_id, new_session_id())
    return Scope(user_id, checked_id("session_id", session_id))


def _kept_turns(capture: str, persist_roles: Collection[str]) -> KeptTurns:
    check(capture in _CAPTURES, "capture", capture, "'both', 'received' or 'sent'")
    speakers = {Speaker.HUMAN.value: Speaker.HUMAN, Speaker.AI.value: Speaker.AI}
    given: object = persist_roles
    is_given = isinstance(given, Collection) and not isinstance(given, str)
    is_known = is_given and all(role in speakers for role in persist_roles)
    check(is_known, "persist_roles", persist_roles, "a tuple of 'human' and 'ai'")
    return KeptTurns(
        received=capture != "sent",
        sent=capture != "received",
        speakers=frozenset(speakers[role] for role in persist_roles),
    )


def _records(found: Memories) -> list[dict[str, Json]]:
    return [dict(memory.record) for memory in found.items]
