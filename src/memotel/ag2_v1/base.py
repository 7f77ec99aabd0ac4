"""What a memory for agents of AG2 1 does, whichever service is behind it."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from memotel.client import MemoryClient
from memotel.memory.roles import kept_speakers
from memotel.memory.surface import MemorySurface
from memotel.memory.template import ContextTemplate
from memotel.values import Scope

if TYPE_CHECKING:
    from ag2.tools.final import FunctionTool

    from ag2 import Plugin


class AgentMemory(MemorySurface):
    """Long-term memory for agents of AG2 1: one object for any number of agents, conversations and event loops."""

    def __init__(
        self,
        client: MemoryClient,
        *,
        scope: Scope,
        template: str,
        persist_roles: Collection[str],
        source: str,
    ) -> None:
        super().__init__(client, scope=scope, source=source)
        self._template = ContextTemplate(template)
        self._speakers = kept_speakers(persist_roles)
        self._plugin: Plugin | None = None

    def plugin(self) -> "Plugin":
        """Return the plugin that gives an agent this memory, or gives it to one turn.

        `Agent(..., plugins=[memory.plugin()])` for all turns; `agent.ask(..., plugins=[memory.plugin()])` for one.
        The same object each time. Opens and starts nothing.
        """
        if self._plugin is None:
            self._plugin = self._made_plugin()
        return self._plugin

    def tools(self) -> "list[FunctionTool]":
        """Return `search_memory(query, limit=5)` and `save_memory(text)` for `Agent(..., tools=memory.tools())`."""
        from memotel.ag2_v1.tools import tools_of

        return tools_of(self)

    def _made_plugin(self) -> "Plugin":
        from ag2 import Plugin
        from memotel.ag2_v1.keeping import TurnKeeper
        from memotel.ag2_v1.policy import RecallPolicy

        keeper = TurnKeeper(
            self,
            self.client,
            self._scopes,
            template=self._template,
            speakers=self._speakers,
            source=self._source,
        )
        plugin = Plugin(middleware=[keeper])
        plugin.add_policy(RecallPolicy(self, self.client, self._scopes, self._template))
        return plugin
