"""The hooks that one capability registers on its agents, and how it leaves them again."""

from __future__ import annotations  # nested functions would make theirs anew for every capability

from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import cast
from weakref import WeakValueDictionary

from memotel.ag2.framework import HookableAgent
from memotel.ag2.guard import CapabilityGuard
from memotel.ag2.messages import Message
from memotel.ag2.persistence import Persistence
from memotel.ag2.recollection import Recollections
from memotel.ag2.seam import Seam

Hook = Callable[..., object]

_OPTIONAL = frozenset({"safeguard_llm_inputs"})
"""Hooks that older releases of AG2 do not have, and that memory can do without."""


class KnownAgents:
    """The agents of a capability that are still in use, by identity; for any number of threads.

    A list is taken of the references in one step, so agents may come, go and be collected meanwhile.
    """

    def __init__(self) -> None:
        self._agents: WeakValueDictionary[int, object] = WeakValueDictionary()
        self._lock = RLock()

    def __contains__(self, agent: object) -> bool:
        return self._agents.get(id(agent)) is agent

    def add(self, agent: object) -> None:
        """Know an agent from now on."""
        if agent in self:
            return
        with self._lock:
            self._agents[id(agent)] = agent

    def discard(self, agent: object) -> None:
        """Know an agent no longer."""
        with self._lock:
            self._agents.pop(id(agent), None)

    def listed(self) -> list[object]:
        """Return the agents known now."""
        with self._lock:
            references = list(self._agents.valuerefs())
        return [agent for reference in references if (agent := reference()) is not None]


class Hooks:
    """One set of hooks for all agents of a capability; copies of an agent share it."""

    def __init__(
        self, recollections: Recollections, persistence: Persistence, guard: CapabilityGuard
    ) -> None:
        seam = Seam(recollections, guard)
        self._seam = seam
        self._persistence = persistence
        self._agents = KnownAgents()
        self._by_method = {
            **_hooks(seam, persistence, guard, self._agents),
            "safeguard_llm_inputs": _detour_hook(recollections, guard),
        }

    @property
    def agents(self) -> list[object]:
        """The agents that have this capability, copies included once they have replied."""
        return self._agents.listed()

    def add_to(self, agent: object) -> None:
        """Register what is not registered yet; raises TypeError for an object without hooks."""
        if not callable(getattr(agent, "register_hook", None)):
            raise TypeError(
                f"{type(agent).__name__} has no register_hook: an AG2 ConversableAgent is needed"
            )
        hookable = cast("HookableAgent", agent)
        hook_lists = getattr(agent, "hook_lists", None)
        for method, hook in self._by_method.items():
            if self._is_missing(agent, hook_lists, method):
                hookable.register_hook(method, hook)
        self._agents.add(agent)
        self._seam.arrange(agent)

    def _is_missing(
        self, agent: object, hook_lists: Mapping[str, Sequence[Hook]] | None, method: str
    ) -> bool:
        """Whether the hook is still to be registered; an agent that shows no lists is asked once."""
        if hook_lists is None or (method not in hook_lists and method not in _OPTIONAL):
            return agent not in self._agents
        return method in hook_lists and self._by_method[method] not in hook_lists[method]

    def remove_from(self, agent: object) -> None:
        """Take hooks and reply functions away again; does nothing for an agent that has none of them."""
        hook_lists = getattr(agent, "hook_lists", None)
        if hook_lists is None:
            return
        for method, hook in self._by_method.items():
            if hook in hook_lists.get(method, ()):
                hook_lists[method].remove(hook)
        self._seam.remove(agent)
        self._persistence.forget(agent)
        self._agents.discard(agent)


def _hooks(
    seam: Seam, persistence: Persistence, guard: CapabilityGuard, agents: KnownAgents
) -> dict[str, Hook]:
    def before_reply(agent: object, messages: Sequence[Message]) -> None:
        """AG2's first hook of a reply: it alone is given the agent and the messages as they are stored."""
        with guard.keep_recalling():
            agents.add(agent)
            seam.arrange(agent)
        with guard.keep_writing():
            persistence.received(agent, messages or ())

    def last_received(content: object) -> object:
        """AG2 writes what this returns into the stored history, so the content is returned as it came."""
        return content

    def fresh_list(messages: list[Message]) -> list[Message]:
        """Give the reply functions a list of their own, in which a message may be shown with memory."""
        return list(messages)

    def before_send(
        sender: object, message: object, recipient: object, silent: object = None
    ) -> object:
        del silent
        with guard.keep_writing():
            persistence.sent(sender, recipient, message)
        return message

    before_reply.is_memotel_hook = True  # type: ignore[attr-defined] # functions take attributes
    return {
        "update_agent_state": before_reply,
        "process_last_received_message": last_received,
        "process_all_messages_before_reply": fresh_list,
        "process_message_before_send": before_send,
    }


def _detour_hook(recollections: Recollections, guard: CapabilityGuard) -> Hook:
    def before_model(messages: list[Message]) -> list[Message]:
        """AG2 calls this before every call of the model, also where it leaves the reply functions out."""
        with guard.keep_recalling():
            if not recollections.were_asked(messages):
                guard.say_detour()
        return messages

    return before_model
