"""The framework half: a context provider over a `MemoryClient`. Which service it is stands in `services.py`."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack
from weakref import WeakKeyDictionary

from agent_framework import (
    AgentSession,
    ContextProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
)

from memotel.agent_framework.keeping import Keeper
from memotel.agent_framework.services import service_of
from memotel.agent_framework.words import query_of
from memotel.client import MemoryClient
from memotel.config import check
from memotel.credentials import CredentialCallable
from memotel.memory.guard import Guard
from memotel.memory.options import Options
from memotel.memory.roles import kept_speakers
from memotel.memory.scopes import checked_id
from memotel.memory.surface import MemorySurface
from memotel.memory.template import ContextTemplate
from memotel.outcomes import Adapter
from memotel.settings import resolve
from memotel.values import Scope

ServiceName = Literal["memorysync", "rekall"]
Placement = Literal["system", "user"]


class MemoryContextProvider(MemorySurface, ContextProvider):
    """Long-term memory for agents of Agent Framework: one object for any number of agents, sessions and event loops.

    Before a run it shows the model what memory knows about the last user's message, within the recall budget; after
    the run it keeps what came in and what the agent answered. Whatever goes wrong, the agent answers. Constructing it
    opens nothing. See `Options` for the settings that have no line of their own here.

    Args:
        service: "memorysync" or "rekall".
        user_id: whose memory; MemorySync needs it. Rekall itself knows a user by the key alone; where one key serves
            several people, what was written under another user_id is neither shown nor found.
        session_id: the conversation that turns are filed under; without one, the session of each run.
        url: where the service is; else MEMORYSYNC_BASE_URL or REKALL_API_URL, or the public service.
        api_key: the key or token, or a callable (sync or async) that returns it; else MEMORYSYNC_API_KEY or REKALL_API_KEY.
        project_id: MemorySync's project (`proj_...`), where the key has several.
        placement: where the model is shown memories: "system", with the instructions of this run, or "user", in a
            message of their own before what came in. A service that keeps the conversation itself keeps such a message.
        context_template: what is shown; `{context}` in it is replaced, never formatted.
        persist_roles: whose words are kept, of "human" and "ai".
        source_id: the provider's name among the context providers of an agent; "memotel_" and the service.
        source: the name under which the service files the turns.
        api_key_file: a file that holds the key, read again when it is refused.
        headers: sent with every request.

    Raises:
        ConfigurationError: a setting is wrong; the message names it, the value and what is allowed.
    """

    def __init__(
        self,
        service: ServiceName,
        user_id: str = "",
        *,
        session_id: str | None = None,
        url: str | None = None,
        api_key: str | CredentialCallable | None = None,
        project_id: str | None = None,
        placement: Placement = "system",
        context_template: str | None = None,
        persist_roles: Collection[str] = ("human", "ai"),
        source_id: str | None = None,
        source: str = "agent_framework",
        api_key_file: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        **options: Unpack[Options],
    ) -> None:
        known = service_of(service, user_id)
        check(placement in ("system", "user"), "placement", placement, "'system' or 'user'")
        settings = resolve(
            known.provider,
            Adapter.AGENT_FRAMEWORK,
            url=url,
            api_key=api_key,
            api_key_file=api_key_file,
            project_id=project_id,
            headers=headers,
            **options,
        )
        session = "" if session_id is None else checked_id("session_id", session_id)
        if source_id is None:
            source_id = f"memotel_{known.provider}"
        ContextProvider.__init__(self, checked_id("source_id", source_id))
        MemorySurface.__init__(
            self, MemoryClient(settings), scope=Scope(user_id, session), source=source
        )
        self._placement = placement
        self._template = ContextTemplate(
            known.template if context_template is None else context_template
        )
        self._keeper = Keeper(self.client, kept_speakers(persist_roles), source)
        self._guard = Guard(self.client)
        self._run_scopes: WeakKeyDictionary[SessionContext, Scope] = WeakKeyDictionary()

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Show the model what memory knows about the last user's message; takes at most `recall_timeout`.

        Only `CancelledError` passes.
        """
        with self._guard.keep_recalling():
            scope = self._run_scopes[context] = self._scope_of(context)
            question = query_of(context.input_messages)
            result = await self.client.arecall(scope, question, agent=_name_of(agent))
            self._show(context, self._template.render(result.context))

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Keep what came in and what the agent answered; never waits for the service, never raises."""
        with self._guard.keep_writing():
            scope = self._run_scopes.get(context) or self._scope_of(context)
            self._keeper.keep(context, scope, _name_of(agent))

    def _scope_of(self, context: SessionContext) -> Scope:
        """Return whose memory a run is about: as it was when the run began, wherever its stream is read to the end."""
        scope = self._scopes.current()
        return replace(scope, session_id=scope.session_id or context.session_id or "")

    def _show(self, context: SessionContext, block: str) -> None:
        if not block:
            return
        if self._placement == "system":
            context.extend_instructions(self.source_id, block)
        else:
            context.extend_messages(self, [Message("user", [block])])


def _name_of(agent: SupportsAgentRun) -> str | None:
    return getattr(agent, "name", None)
