"""The framework half: AutoGen's `Memory` over a `MemoryClient`. Which service it is stands in `services.py`."""

import uuid
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Self, Unpack

from memotel.autogen.arguments import Arguments, read_options, read_settings
from memotel.autogen.cancellation import abandonable
from memotel.autogen.capture import SOURCE, Tee
from memotel.autogen.compat import (
    CancellationToken,
    ChatCompletionContext,
    Component,
    LLMMessage,
    Memory,
    MemoryContent,
    MemoryQueryResult,
    UpdateContextResult,
)
from memotel.autogen.component import MemoryConfig, arguments_of, portable
from memotel.autogen.content import from_memory, metadata_of, to_text
from memotel.autogen.messages import Block, block_text, query_of
from memotel.autogen.surface import MemoryContext, Surface, surface_of
from memotel.client import MemoryClient
from memotel.errors import InvalidRequestError
from memotel.notices import Event, fault_of
from memotel.outcomes import Provider, Speaker
from memotel.values import FlushReport, Turn, WriteAnswer


class AgentMemory(Memory, Component[MemoryConfig]):
    """Long-term memory for `AssistantAgent(..., memory=[...])`.

    Usable by any number of agents at once, on any event loop. Constructing it opens nothing.
    """

    component_type = "memory"
    component_config_schema = MemoryConfig
    provider: ClassVar[Provider]
    url_argument: ClassVar[str]
    """How the constructor calls the service's address."""
    added_as: ClassVar[Speaker]
    """Whose words `add` gives, unless metadata["speaker"] says so."""

    def __init__(self, **given: Unpack[Arguments]) -> None:
        self._given = given
        self._options = read_options(given, default_name=self.provider.value)
        self._client = MemoryClient(read_settings(given, self.provider))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, url={self._client.settings.base_url!r})"

    def __deepcopy__(self, memo: object) -> Self:
        return self

    @property
    def name(self) -> str:
        """The memory's name, as its block says it."""
        return self._options.name

    @property
    def client(self) -> MemoryClient:
        """The client underneath, for stats and settings."""
        return self._client

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Show the model what memory knows about the last user's message; takes at most `recall_timeout`.

        Whatever goes wrong, the agent answers without memories and the result is empty; only `CancelledError` passes.
        """
        try:
            found = await self._update(surface_of(model_context))
        except Exception as error:  # noqa: BLE001 # memory must not break the reply that it is meant to help
            said = f"the agent answers without memories ({fault_of(error)})"
            self._client.notices.say(Event.HOOK_RECALL_FAILED, said)
            found = []
        results = found if self._options.emit_event else []
        return UpdateContextResult(memories=MemoryQueryResult(results=results))

    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """Search memory, best first; each result's metadata has its `id` and its `score` (0 to 1, or None).

        `limit=` (or `top_k=`) overrides the setting for this call. Raises `MemotelError`; a cancelled token raises
        `CancelledError` at once.
        """
        text = query if isinstance(query, str) else to_text(query)
        limit = kwargs.get("limit", kwargs.get("top_k"))
        search = self._client.asearch(self._options.scope, text, limit=limit)
        found = await abandonable(search, cancellation_token)
        return MemoryQueryResult(results=[from_memory(memory) for memory in found.items])

    async def add(
        self, content: MemoryContent, cancellation_token: CancellationToken | None = None
    ) -> None:
        """Keep one item, and return when the service has it.

        What does not get through within `write_timeout` stays in the outbox and is delivered later. Raises
        `MemotelError` where the service refuses the item, or it has no textual form (`memotel.autogen.content`).
        `metadata` goes along (`type`, `importance`, ...) and is never changed. Each call is an item of its own, unless
        metadata["message_id"] says that two are the same. A token that is cancelled meanwhile raises `CancelledError`;
        the item may be kept all the same.
        """
        message_id = (getattr(content, "metadata", None) or {}).get("message_id")
        message_id = message_id or uuid.uuid4().hex
        await self.deliver(content, str(message_id), cancellation_token)

    async def deliver(
        self,
        content: MemoryContent,
        message_id: str,
        cancellation_token: CancellationToken | None = None,
    ) -> WriteAnswer | None:
        """Do what `add` does, and return the service's answer; None where the item waits in the outbox."""
        text = self._whole(to_text(content))
        metadata = metadata_of(content)
        speaker = metadata.get("speaker")
        turn = Turn(
            scope=self._options.scope,
            speaker=next((known for known in Speaker if known == speaker), self.added_as),
            text=text,
            message_id=message_id,
            observer=self.name,
            source=SOURCE,
            metadata=metadata,
        )
        timeout_s = self._client.settings.writes.attempt_budget_s
        return await abandonable(self._client.adeliver(turn, timeout_s), cancellation_token)

    def _whole(self, text: str) -> str:
        """Return the text; raises `InvalidRequestError` where the service would keep none or a part of it only."""
        if not text.strip():
            raise InvalidRequestError("content must be a text that is not empty", status_code=0)
        most = self._client.max_turn_chars
        if len(text) > most:
            raise InvalidRequestError(
                f"content has {len(text):,} characters; {self.provider} keeps at most {most:,}: add it in parts",
                status_code=0,
            )
        return text

    async def clear(self) -> None:
        """Do nothing: the memory at the service is durable and shared, and an agent's reset must not empty it."""

    async def close(self) -> None:
        """Deliver what is pending and free what is ours; the memory at the service stays. Idempotent."""
        await self._client.aclose()

    def wrap(self, context: ChatCompletionContext) -> MemoryContext:
        """Return a context around `context` for memories to show their blocks in; `context` itself is not changed."""
        return MemoryContext(context)

    def flush(self, timeout: float = 10.0) -> FlushReport:
        """Wait at most `timeout` seconds until nothing is pending; report what is left. Blocks; see `aflush`."""
        return self._client.flush(timeout)

    async def aflush(self, timeout: float = 10.0) -> FlushReport:
        """Wait at most `timeout` seconds until nothing is pending, without blocking the loop."""
        return await self._client.aflush(timeout)

    def warm(self, timeout: float = 5.0) -> bool:
        """Connect now, so that the first recall need not; return whether it worked within `timeout` seconds."""
        return self._client.warm(timeout)

    async def awarm(self, timeout: float = 5.0) -> bool:
        """Connect now, without blocking the loop; return whether it worked within `timeout` seconds."""
        return await self._client.awarm(timeout)

    def paused(self) -> AbstractContextManager[None]:
        """Neither recall nor write in this task or thread while the block runs."""
        return self._client.paused()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._client.close()

    async def _update(self, surface: Surface) -> list[MemoryContent]:
        """Replace this memory's block by what it knows now, and return that."""
        await surface.show(self, None)
        messages = await surface.messages()
        tee = self._joined(surface, messages)
        try:
            result = await self._client.arecall(
                self._options.scope, query_of(messages), agent=tee.own_name
            )
        finally:
            tee.release()
        tee.expect_reply()
        if not result.context:
            return []
        text = block_text(self.name, result.context)
        await surface.show(self, Block(text, self._options.placement))
        return [from_memory(memory) for memory in result.memories]

    def _joined(self, surface: Surface, messages: list[LLMMessage]) -> Tee:
        """Return this memory's ear on the context; a new one first takes in what stands there."""
        found = surface.listener(self)
        if isinstance(found, Tee):
            return found
        tee = Tee(self._client, self._options)
        tee.catch_up(messages)
        surface.listen(self, tee)
        return tee

    def _to_config(self) -> MemoryConfig:
        fields = portable(self._given, self.provider)
        fields[self.url_argument] = fields.pop("url", None)
        return self.component_config_schema.model_validate(fields)

    @classmethod
    def _from_config(cls, config: MemoryConfig) -> Self:
        return cls(**arguments_of(config))
