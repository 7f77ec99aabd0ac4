"""The parts of an AG2 agent that have no public name, each in one function. Read from autogen 0.14.1, November 2026."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypedDict

from memotel.ag2.messages import Message

ReplyFunction = Callable[..., object]


class ReplyEntry(TypedDict):
    """One entry of an agent's list of reply functions, as `register_reply` makes it."""

    trigger: object
    reply_func: ReplyFunction
    config: object
    init_config: object
    reset_config: object
    ignore_async_in_sync_chat: bool


class HookableAgent(Protocol):
    """What this adapter needs of an agent."""

    def register_hook(self, hookable_method: str, hook: Callable[..., object]) -> None:
        """Have `hook` called where the agent calls `hookable_method`."""
        ...


def reply_entries(agent: object) -> list[ReplyEntry] | None:
    """Return the agent's reply functions in their order, or None where it has none."""
    entries = getattr(agent, "_reply_func_list", None)
    return entries if isinstance(entries, list) else None


def set_reply_entries(agent: object, entries: list[ReplyEntry]) -> None:
    """Give the agent another list; a reply that walks the old one at this moment is not disturbed."""
    agent._reply_func_list = entries  # type: ignore[attr-defined] # noqa: SLF001 # register_reply cannot move or remove an entry


def histories(agent: object) -> Mapping[object, list[Message]]:
    """Return what the agent has stored, by the agent it talked with."""
    found = getattr(agent, "chat_messages", None)
    return found if isinstance(found, Mapping) else {}


def is_stored(agent: object, messages: list[Message]) -> bool:
    """Whether `messages` is itself one of the agent's histories, which must never be changed."""
    return any(messages is history for history in list(histories(agent).values()))


def partner_of(agent: object, messages: Sequence[Message]) -> object | None:
    """Return whom the agent talks with in these messages, or None where they are a caller's own.

    A part of a stored history (a reply that is made again) counts as that history.
    """
    stored = list(histories(agent).items())
    for partner, history in stored:
        if history is messages:
            return partner
    for partner, history in stored:
        if messages and any(message is messages[-1] for message in history):
            return partner
    return None


def matches(agent: object, trigger: object, sender: object) -> bool:
    """Whether AG2 would call a reply function of this trigger for this sender."""
    try:
        return bool(agent._match_trigger(trigger, sender))  # type: ignore[attr-defined] # noqa: SLF001 # AG2's own rule, not a copy of it
    except Exception:  # noqa: BLE001 # the reply function's own turn will raise it, with AG2's message
        return False


def formats_content(agent: object, messages: list[Message]) -> bool:
    """Whether AG2 will put the message texts through `str.format` before the model sees them."""
    if not messages or not messages[-1].get("context"):
        return False
    configs = getattr(getattr(agent, "client", None), "_config_list", ())
    return any(config.get("allow_format_str_template") for config in configs)


def plain_function(function: ReplyFunction) -> ReplyFunction:
    """Return the function behind partials and bound methods, as far as that is visible."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__func__", function)
