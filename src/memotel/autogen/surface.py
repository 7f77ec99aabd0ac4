"""Where a memory shows its block: a view put over the context, `MemoryContext`, or messages stored in the context."""

from collections.abc import Mapping
from typing import Any, Protocol, Self

from memotel.autogen.compat import (
    BaseModel,
    ChatCompletionContext,
    Component,
    ComponentModel,
    LLMMessage,
)
from memotel.autogen.messages import Block, holds_block, opening, stored_block
from memotel.autogen.view import ContextView, Listener, Owner


class Surface(Protocol):
    """What a memory needs of a context."""

    async def messages(self) -> list[LLMMessage]:
        """Return the context's own messages, as it shows them, without any block."""
        ...

    async def show(self, owner: Owner, block: Block | None) -> None:
        """Show `block` in place of the owner's last one; None shows none."""
        ...

    def listener(self, owner: Owner) -> Listener | None:
        """Return who listens for `owner`, if anybody does."""
        ...

    def listen(self, owner: Owner, listener: Listener) -> None:
        """Tell `listener` of what enters the context from now on, where the context can."""
        ...


class MemoryContextConfig(BaseModel):
    """What a dump of a `MemoryContext` holds: the context inside."""

    context: ComponentModel


class MemoryContext(ChatCompletionContext, Component[MemoryContextConfig]):
    """A context around another one: shows its messages, and the blocks of the memories that update it.

    The explicit form of what `RekallMemory` otherwise does to the context in place; made by `memory.wrap(context)`.
    """

    component_config_schema = MemoryContextConfig
    component_provider_override = "memotel.autogen.MemoryContext"

    def __init__(self, context: ChatCompletionContext) -> None:
        super().__init__()
        self._inside = context
        self.view = found_view(context) or ContextView(context)

    async def get_messages(self) -> list[LLMMessage]:
        """Return the messages of the context inside, with the blocks shown."""
        return await self.view.get_messages()

    async def add_message(self, message: LLMMessage) -> None:
        """Add a message to the context inside."""
        await self.view.add_message(message)

    async def clear(self) -> None:
        """Clear the context inside, and the blocks."""
        await self.view.clear()

    async def save_state(self) -> Mapping[str, Any]:
        """Return the state of the context inside, which holds no block."""
        return await self.view.save_state()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Load a state into the context inside; the blocks go."""
        await self.view.load_state(state)

    def _to_config(self) -> MemoryContextConfig:
        return MemoryContextConfig(context=self._inside.dump_component())

    @classmethod
    def _from_config(cls, config: MemoryContextConfig) -> Self:
        return cls(ChatCompletionContext.load_component(config.context))


class StoredBlocks:
    """The fall-back for a context whose methods cannot be replaced: each block is a user's message of its own.

    A user's message because a late system message is an error for most model clients. The owner's last block is taken
    out again where the context can save and load its state.
    """

    def __init__(self, context: ChatCompletionContext) -> None:
        self._context = context

    async def messages(self) -> list[LLMMessage]:
        """Return the context's own messages, as it shows them, without any block."""
        return [m for m in await self._context.get_messages() if not holds_block(m)]

    async def show(self, owner: Owner, block: Block | None) -> None:
        """Take the owner's last block out of the context; add this one, unless it is None."""
        await self._take_out(opening(owner.name))
        if block is not None:
            await self._context.add_message(stored_block(block.text))

    def listener(self, owner: Owner) -> Listener | None:
        """Return None: such a context tells nobody what it is given."""
        return None

    def listen(self, owner: Owner, listener: Listener) -> None:
        """Do nothing: such a context tells nobody what it is given."""

    async def _take_out(self, start: str) -> None:
        if not hasattr(self._context, "load_state"):
            return
        state = await self._context.save_state()
        before = list(state.get("messages", ()))
        after = [m for m in before if not _is_block(m, start)]
        if len(after) < len(before):
            await self._context.load_state({**state, "messages": after})


def _is_block(dumped: Mapping[str, Any], start: str) -> bool:
    content = dumped.get("content")
    return (
        dumped.get("type") == "UserMessage"
        and isinstance(content, str)
        and content.startswith(start)
    )


def surface_of(context: ChatCompletionContext) -> Surface:
    """Return where to show blocks for this context: its one view if it can have one."""
    return view_over(context) or StoredBlocks(context)


def view_over(context: ChatCompletionContext) -> ContextView | None:
    """Return the view over a context, put there now if need be; None if the context does not take one."""
    found = found_view(context)
    if found is not None:
        return found
    view = ContextView(context)
    try:
        for name in view.names:
            setattr(context, name, getattr(view, name))
    except (AttributeError, TypeError, ValueError):
        _restore(context, view)
        return None
    return view if _is_over(context, view) else None


def found_view(context: ChatCompletionContext) -> ContextView | None:
    """Return the view that already stands over a context."""
    if isinstance(context, MemoryContext):
        return context.view
    holder = getattr(context.get_messages, "__self__", None)
    return holder if isinstance(holder, ContextView) else None


def _is_over(context: ChatCompletionContext, view: ContextView) -> bool:
    return all(getattr(getattr(context, n), "__self__", None) is view for n in view.names)


def _restore(context: ChatCompletionContext, view: ContextView) -> None:
    for name in view.names:
        try:
            delattr(context, name)
        except AttributeError:
            continue
