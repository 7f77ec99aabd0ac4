"""A view over a model context: what `get_messages` shows is the context's own messages and the memory blocks.

Nothing is stored in the context, so its saved state holds no block and a buffered context loses no history. What a
context reads of itself (to save its state, to summarise) is shown without blocks too.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from memotel.autogen.compat import ChatCompletionContext, LLMMessage
from memotel.autogen.messages import Block, laid_over
from memotel.autogen.tokens import fitting, room_for

VIEWED = ("get_messages", "add_message", "clear", "save_state", "load_state")
_is_bare: ContextVar[bool] = ContextVar("memotel_autogen_bare", default=False)


class Owner(Protocol):
    """Whose block it is: one memory."""

    @property
    def name(self) -> str:
        """The memory's name, as its block says it."""
        ...


class Listener(Protocol):
    """Who wants to know what enters a context."""

    def heard(self, message: LLMMessage) -> None:
        """Take note of a message that was added."""
        ...

    def replaced(self, messages: list[LLMMessage]) -> None:
        """Take note that the context holds exactly these messages now: it was cleared, or loaded."""
        ...

    def failed(self, error: Exception) -> None:
        """Say that one of these two failed."""
        ...


class ContextView:
    """The view over one context. Its methods stand in for the context's own of the same names."""

    def __init__(self, context: ChatCompletionContext) -> None:
        self._context = context
        self._inner: dict[str, Callable[..., Awaitable[Any]]] = {
            name: getattr(context, name) for name in VIEWED if hasattr(context, name)
        }
        self._blocks: dict[Owner, Block] = {}
        self._listeners: dict[Owner, Listener] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The methods of the context that this view stands in for."""
        return tuple(self._inner)

    async def messages(self) -> list[LLMMessage]:
        """Return the context's own messages, as it shows them, without any block."""
        with _bare():
            return list(await self._inner["get_messages"]())

    async def show(self, owner: Owner, block: Block | None) -> None:
        """Show `block` in place of the owner's last one; None shows none."""
        if block is None:
            self._blocks.pop(owner, None)
        else:
            self._blocks[owner] = block

    def listen(self, owner: Owner, listener: Listener) -> None:
        """Tell `listener` of every message from now on."""
        self._listeners[owner] = listener

    def listener(self, owner: Owner) -> Listener | None:
        """Return who listens for `owner`."""
        return self._listeners.get(owner)

    async def get_messages(self) -> list[LLMMessage]:
        """Return the context's messages with the blocks shown, or as they are when the context itself asks."""
        if _is_bare.get():
            return await self.messages()
        blocks = fitting(self._context, list(self._blocks.values()))
        with room_for(self._context, blocks):
            messages = await self.messages()
        return laid_over(messages, blocks)

    async def add_message(self, message: LLMMessage) -> None:
        """Add a message to the context, and tell the listeners."""
        with _bare():
            await self._inner["add_message"](message)
        self._tell(lambda listener: listener.heard(message))

    async def clear(self) -> None:
        """Clear the context; the blocks belonged to what is gone."""
        with _bare():
            await self._inner["clear"]()
        self._forget([])

    async def save_state(self) -> Mapping[str, Any]:
        """Return the context's state, which holds no block."""
        with _bare():
            state: Mapping[str, Any] = await self._inner["save_state"]()
        return state

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Load a state; the blocks belonged to what is gone."""
        with _bare():
            await self._inner["load_state"](state)
        self._forget(await self.messages())

    def _forget(self, messages: list[LLMMessage]) -> None:
        self._blocks.clear()
        self._tell(lambda listener: listener.replaced(messages))

    def _tell(self, say: Callable[[Listener], None]) -> None:
        for listener in list(self._listeners.values()):
            try:
                say(listener)
            except Exception as error:  # noqa: BLE001 # who listens must not break the chat
                listener.failed(error)


@contextmanager
def _bare() -> Iterator[None]:
    """Show contexts without blocks inside: what a context reads of itself must not be what memory added."""
    token = _is_bare.set(True)
    try:
        yield
    finally:
        _is_bare.reset(token)
