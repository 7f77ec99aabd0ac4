"""Where memory meets a reply: in front of the functions that may see it, and gone before those that may not.

An agent makes a reply by asking its reply functions in order, over one list of messages. Before each run of functions
that may see memory stands `inject`, which replaces one element of that list; before each other run stands `withdraw`,
which puts the original back. The list is a fresh one for every reply, so nothing stored is ever changed. The order is
checked at every reply, so functions that are registered later, at any position, are covered.
"""

import itertools
import operator
from collections.abc import Callable
from dataclasses import dataclass, field

from memotel.ag2.framework import (
    ReplyEntry,
    ReplyFunction,
    is_stored,
    matches,
    reply_entries,
    set_reply_entries,
)
from memotel.ag2.messages import Message, withdraw
from memotel.ag2.recollection import Recollections
from memotel.ag2.replies import is_seam, may_see_memory
from memotel.memory.guard import Guard

NO_REPLY = (False, None)
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class AnyTrigger:
    """Matches a sender for which any of the functions behind it would be called.

    Attributes:
        agent: whose reply functions they are.
        triggers: those of the functions behind it.
        order: what the agent's order was made of when it was last found right; it lives and goes with the agent.
    """

    agent: object
    triggers: tuple[object, ...]
    order: list[object] = field(default_factory=list, compare=False, repr=False)

    def __call__(self, sender: object) -> bool:
        """Whether one of the triggers matches `sender`."""
        return any(matches(self.agent, trigger, sender) for trigger in self.triggers)

    def covers(self, trigger: object) -> bool:
        """Whether `trigger` is one of these."""
        return any(trigger is known for known in self.triggers)


class Seam:
    """The three functions that one capability places among an agent's reply functions.

    They belong to the capability and not to an agent: copies of an agent share them.
    """

    def __init__(self, recollections: Recollections, guard: Guard) -> None:
        self.inject, self.a_inject = _injectors(recollections, guard, next(_numbers))
        self.withdraw = _withdrawer(guard)

    def arrange(self, agent: object) -> None:
        """Make the order of the agent's reply functions right, where it is not."""
        entries = reply_entries(agent)
        if entries is None or self._is_as_it_was(agent, entries):
            return
        if not self._is_arranged(agent, entries):
            entries = self._arranged(agent, entries)
            set_reply_entries(agent, entries)
        trigger = self._own_trigger(agent, entries)
        if trigger is not None:
            trigger.order[:] = _order(agent, entries)

    def remove(self, agent: object) -> None:
        """Take these functions away from the agent."""
        entries = reply_entries(agent)
        if entries is not None:
            set_reply_entries(agent, [entry for entry in entries if not self._is_own(entry)])

    def _is_as_it_was(self, agent: object, entries: list[ReplyEntry]) -> bool:
        """Whether nothing changed since the order was found right, which is quicker to see than the order itself."""
        trigger = self._own_trigger(agent, entries)
        if trigger is None:
            return False
        known, now = trigger.order, _order(agent, entries)
        return len(known) == len(now) and all(map(operator.is_, known, now))

    def _own_trigger(self, agent: object, entries: list[ReplyEntry]) -> AnyTrigger | None:
        for entry in entries:
            trigger = entry["trigger"]
            if entry["reply_func"] is self.inject and isinstance(trigger, AnyTrigger):
                return trigger if trigger.agent is agent else None
        return None

    def _is_own(self, entry: ReplyEntry) -> bool:
        function = entry["reply_func"]
        return function is self.inject or function is self.a_inject or function is self.withdraw

    def _is_arranged(self, agent: object, entries: list[ReplyEntry]) -> bool:
        open_for: dict[str, AnyTrigger] = {}
        for entry in entries:
            function, trigger = entry["reply_func"], entry["trigger"]
            if function is self.withdraw:
                open_for = {}
            elif self._is_own(entry) and isinstance(trigger, AnyTrigger):
                open_for = {**open_for, function.__name__: trigger}
            elif not is_seam(entry) and not self._is_right(agent, entry, open_for):
                return False
        return True

    def _is_right(self, agent: object, entry: ReplyEntry, open_for: dict[str, AnyTrigger]) -> bool:
        if not may_see_memory(agent, entry):
            return not open_for
        is_covered = all(t.agent is agent and t.covers(entry["trigger"]) for t in open_for.values())
        return len(open_for) == 2 and is_covered

    def _arranged(self, agent: object, entries: list[ReplyEntry]) -> list[ReplyEntry]:
        others = [entry for entry in entries if not self._is_own(entry)]
        arranged: list[ReplyEntry] = []
        is_open = False
        for index, entry in enumerate(others):
            if not is_seam(entry):
                may_see = may_see_memory(agent, entry)
                if may_see and not is_open:
                    arranged += self._opening(AnyTrigger(agent, _run(agent, others[index:])))
                if not may_see and is_open:
                    arranged.append(_entry(self.withdraw, _always))
                is_open = may_see
            arranged.append(entry)
        return arranged

    def _opening(self, trigger: AnyTrigger) -> list[ReplyEntry]:
        return [_entry(self.a_inject, trigger, is_async=True), _entry(self.inject, trigger)]


def _order(agent: object, entries: list[ReplyEntry]) -> list[object]:
    """Return all that the right order of these reply functions depends on."""
    order = [getattr(agent, "client", None)]
    for entry in entries:
        order += (entry["reply_func"], entry["trigger"], entry["config"])
    return order


def _run(agent: object, entries: list[ReplyEntry]) -> tuple[object, ...]:
    """Return the triggers of the functions at the head of `entries` that may see memory."""
    plain = [entry for entry in entries if not is_seam(entry)]
    run = itertools.takewhile(lambda entry: may_see_memory(agent, entry), plain)
    return tuple(entry["trigger"] for entry in run)


def _always(sender: object) -> bool:
    del sender
    return True


def _entry(function: ReplyFunction, trigger: object, *, is_async: bool = False) -> ReplyEntry:
    return {
        "trigger": trigger,
        "reply_func": function,
        "config": None,
        "init_config": None,
        "reset_config": None,
        "ignore_async_in_sync_chat": is_async,
    }


def _injectors(
    recollections: Recollections, guard: Guard, number: int
) -> tuple[Callable[..., object], Callable[..., object]]:
    """Return the synchronous injector and its asynchronous twin.

    AG2 leaves a synchronous function out of an asynchronous chat where an asynchronous one has the same name behind
    `a_`. It looks names up, so each capability's pair has names of its own.
    """

    def inject(
        recipient: object,
        messages: list[Message] | None = None,
        sender: object = None,
        config: object = None,
    ) -> tuple[bool, None]:
        del config
        with guard.keep_recalling():
            if messages is not None and not is_stored(recipient, messages):
                recollections.show(recipient, sender, messages)
        return NO_REPLY

    async def a_inject(
        recipient: object,
        messages: list[Message] | None = None,
        sender: object = None,
        config: object = None,
    ) -> tuple[bool, None]:
        del config
        with guard.keep_recalling():
            if messages is not None and not is_stored(recipient, messages):
                await recollections.ashow(recipient, sender, messages)
        return NO_REPLY

    inject.__name__ = f"memotel_recall_{number}"
    a_inject.__name__ = f"a_{inject.__name__}"
    inject.is_memotel_seam = a_inject.is_memotel_seam = True  # type: ignore[attr-defined] # functions take attributes
    return inject, a_inject


def _withdrawer(guard: Guard) -> Callable[..., object]:
    def memotel_withdraw(
        recipient: object,
        messages: list[Message] | None = None,
        sender: object = None,
        config: object = None,
    ) -> tuple[bool, None]:
        del sender, config
        with guard.keep_recalling():
            if messages is not None and not is_stored(recipient, messages):
                withdraw(messages)
        return NO_REPLY

    memotel_withdraw.is_memotel_seam = True  # type: ignore[attr-defined] # functions take attributes
    return memotel_withdraw
