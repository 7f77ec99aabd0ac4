"""What every memory capability of AG2 does, whichever service is behind it."""

from collections.abc import Collection
from typing import Literal

from memotel.ag2.framework import histories
from memotel.ag2.guard import CapabilityGuard
from memotel.ag2.hooks import Hooks
from memotel.ag2.persistence import KeptTurns, Persistence
from memotel.ag2.recollection import Recollections
from memotel.client import MemoryClient
from memotel.config import check
from memotel.memory.roles import kept_speakers
from memotel.memory.surface import MemorySurface
from memotel.memory.template import ContextTemplate
from memotel.values import FlushReport, Scope

Capture = Literal["both", "received", "sent"]
_CAPTURES = ("both", "received", "sent")


class Capability(MemorySurface):
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
        super().__init__(client, scope=scope, source=source)
        context = ContextTemplate(template)
        guard = CapabilityGuard(self.client)
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

    def add_to_agent(self, agent: object) -> None:
        """Give an agent this memory. Idempotent; opens and starts nothing.

        Raises TypeError for an object without `register_hook`.
        """
        self._hooks.add_to(agent)

    def remove_from_agent(self, agent: object) -> None:
        """Take this memory away again; the agent is as it was. Idempotent."""
        self._hooks.remove_from(agent)

    def flush(self, timeout: float = 10.0, agent: object | None = None) -> FlushReport:
        """Keep the last message of chats that ended, then wait at most `timeout` seconds for all writes.

        No hook of AG2's sees the last message of a chat. With `agent` (either side of the chat) only its chats are
        read; without, those of every agent of this memory, unless `scope` was used: name the agent then.
        """
        return super().flush(timeout, agent)

    def close(self, timeout: float = 5.0) -> None:
        """Keep the last messages and deliver what is pending within `timeout` seconds. Idempotent; never raises."""
        super().close(timeout)

    def _sweep(self, agent: object | None) -> None:
        only_known = agent is None and self._scopes.is_overridden
        attached: list[object] = []
        with self._guard.keep_writing():
            attached = self._attached_in_chats_of(agent)
        for known in attached:
            with self._guard.keep_writing():
                self._persistence.sweep(known, only_known=only_known)

    def _attached_in_chats_of(self, agent: object | None) -> list[object]:
        """Return the agents of this memory that `agent` is or has talked with; all of them for None."""
        attached = self._hooks.agents
        if agent is None or agent in attached:
            return attached if agent is None else [agent]
        return [known for known in attached if agent in histories(known)]


def _kept_turns(capture: str, persist_roles: Collection[str]) -> KeptTurns:
    check(capture in _CAPTURES, "capture", capture, "'both', 'received' or 'sent'")
    return KeptTurns(
        received=capture != "sent",
        sent=capture != "received",
        speakers=kept_speakers(persist_roles),
    )
