"""Where memory meets a reply: in front of the functions that may see it, and gone before those that may not.

An agent makes a reply by asking its reply functions in order, over one list of messages. Before each run of functions
that may see memory stands `inject`, which replaces one element of that list; before each other run stands `withdraw`,
which puts the original back. The list is a fresh one for every reply, so nothing stored is ever changed. The order is
checked at every reply, so functions that are registered later, at any position, are covered.
"""

from __future__ import annotations  # nested functions would make theirs anew for every capability

import itertools
import operator
from collections.abc import Callable, Iterable
from contextvars import ContextVar
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
_answered_here: ContextVar[list[Message] | None] = ContextVar("memotel_answered", default=None)
"""The list of the reply that is being made asynchronously in this context."""

_numbers = itertools.count(1)


_parts = operator.itemgetter("reply_func", "trigger", "config")
"""What the right order of an agent's functions depends on, of one of them."""

EVERYBODY = object
"""The trigger that AG2 is quickest with: any other costs it two looks at a protocol, a twentieth of a turn.

Whether the functions behind would be called for a sender is looked at by the function itself.
"""


MAX_CASES = 256
_answered_types: dict[tuple[object, frozenset[type], type], bool] = {}
"""What AG2 said of a type of sender: its rule, the types that triggers name, the sender's own."""


@dataclass(slots=True, eq=False)
class Covered:
    """The reply functions behind one of ours, which finds this as its `config`.

    Attributes:
        agent: whose reply functions they are.
        triggers: theirs.
        order: the parts of the agent's functions, one after another, when their order was last found right.
        client: the agent's model client then.
        types: the types of sender that the triggers name, where they ask for nothing else.
        lists: the lists among the triggers, each with what stood in it: a list may be changed in place.
    """

    agent: object
    triggers: tuple[object, ...]
    order: list[object] = field(default_factory=list, repr=False)
    client: object | None = field(default=None, repr=False)
    types: frozenset[type] | None = field(init=False, repr=False)
    lists: list[tuple[list[object], list[object]]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.read_triggers()

    def read_triggers(self) -> None:
        """Note what the triggers name now."""
        self.lists = [(each, list(each)) for each in _lists_in(self.triggers)]
        self.types = _types_in(self.triggers)

    def note(self, agent: object, entries: list[ReplyEntry]) -> None:
        """Keep what the order that was found right was made of; it lives and goes with the agent."""
        self.client = getattr(agent, "client", None)
        self.order = list(itertools.chain.from_iterable(map(_parts, entries)))

    def answers(self, sender: object) -> bool:
        """Whether one of the functions would be called for `sender`."""
        if any(now != then for now, then in self.lists):
            self.read_triggers()
        if self.types is None:
            return self._is_matched(sender)
        case = (getattr(type(self.agent), "_match_trigger", None), self.types, type(sender))
        known = _answered_types.get(case)
        if known is None:
            known = self._is_matched(sender)
            if len(_answered_types) >= MAX_CASES:
                _answered_types.clear()
            _answered_types[case] = known
        return known

    def _is_matched(self, sender: object) -> bool:
        return any(matches(self.agent, trigger, sender) for trigger in self.triggers)

    def covers(self, trigger: object) -> bool:
        """Whether `trigger` is one of these."""
        return any(trigger is known for known in self.triggers)


def _lists_in(triggers: Iterable[object]) -> list[list[object]]:
    """Return the lists that stand among the triggers, those inside of others included."""
    here = [trigger for trigger in triggers if isinstance(trigger, list)]
    return here + [inner for each in here for inner in _lists_in(each)]


def _types_in(triggers: Iterable[object]) -> frozenset[type] | None:
    """Return the types that the triggers name (nobody's included), or None where one asks for anything else."""
    found: set[type] = set()
    for trigger in triggers:
        inner = _types_in(trigger) if isinstance(trigger, list) else None
        if inner is not None:
            found |= inner
        elif trigger is None or isinstance(trigger, type):
            found.add(type(None) if trigger is None else trigger)
        else:
            return None
    return frozenset(found)


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
        covered = self._own_covered(agent, entries)
        if covered is not None:
            covered.note(agent, entries)

    def remove(self, agent: object) -> None:
        """Take these functions away from the agent."""
        entries = reply_entries(agent)
        if entries is not None:
            set_reply_entries(agent, [entry for entry in entries if not self._is_own(entry)])

    def _is_as_it_was(self, agent: object, entries: list[ReplyEntry]) -> bool:
        """Whether nothing changed since the order was found right, which is quicker to see than the order itself."""
        covered = self._own_covered(agent, entries)
        if covered is None:
            return False
        known = covered.order
        if len(known) != 3 * len(entries) or covered.client is not getattr(agent, "client", None):
            return False
        return all(map(operator.is_, known, itertools.chain.from_iterable(map(_parts, entries))))

    def _own_covered(self, agent: object, entries: list[ReplyEntry]) -> Covered | None:
        for entry in entries:
            covered = entry["config"]
            if entry["reply_func"] is self.inject and isinstance(covered, Covered):
                return covered if covered.agent is agent else None
        return None

    def _is_own(self, entry: ReplyEntry) -> bool:
        function = entry["reply_func"]
        return function is self.inject or function is self.a_inject or function is self.withdraw

    def _is_arranged(self, agent: object, entries: list[ReplyEntry]) -> bool:
        open_for: dict[str, Covered] = {}
        for entry in entries:
            function, covered = entry["reply_func"], entry["config"]
            if function is self.withdraw:
                open_for = {}
            elif self._is_own(entry) and isinstance(covered, Covered):
                open_for = {**open_for, function.__name__: covered}
            elif not is_seam(entry) and not self._is_right(agent, entry, open_for):
                return False
        return True

    def _is_right(self, agent: object, entry: ReplyEntry, open_for: dict[str, Covered]) -> bool:
        if not may_see_memory(agent, entry):
            return not open_for
        is_covered = all(c.agent is agent and c.covers(entry["trigger"]) for c in open_for.values())
        return len(open_for) == 2 and is_covered

    def _arranged(self, agent: object, entries: list[ReplyEntry]) -> list[ReplyEntry]:
        others = [entry for entry in entries if not self._is_own(entry)]
        arranged: list[ReplyEntry] = []
        is_open = False
        for index, entry in enumerate(others):
            if not is_seam(entry):
                may_see = may_see_memory(agent, entry)
                if may_see and not is_open:
                    arranged += self._opening(Covered(agent, _run(agent, others[index:])))
                if not may_see and is_open:
                    arranged.append(_entry(self.withdraw))
                is_open = may_see
            arranged.append(entry)
        return arranged

    def _opening(self, covered: Covered) -> list[ReplyEntry]:
        return [_entry(self.a_inject, covered, is_async=True), _entry(self.inject, covered)]


def _run(agent: object, entries: list[ReplyEntry]) -> tuple[object, ...]:
    """Return the triggers of the functions at the head of `entries` that may see memory."""
    plain = [entry for entry in entries if not is_seam(entry)]
    run = itertools.takewhile(lambda entry: may_see_memory(agent, entry), plain)
    return tuple(entry["trigger"] for entry in run)


def _entry(function: ReplyFunction, config: object = None, *, is_async: bool = False) -> ReplyEntry:
    return {
        "trigger": EVERYBODY,
        "reply_func": function,
        "config": config,
        "init_config": config,
        "reset_config": _keep,
        "ignore_async_in_sync_chat": is_async,
    }


def _keep(config: object) -> None:
    """Leave the configuration as it is when AG2 resets an agent's statistics."""
    del config


def _is_unasked(config: object, sender: object) -> bool:
    """Whether nobody behind one of our functions would be called for this sender."""
    return isinstance(config, Covered) and not config.answers(sender)


def _injectors(
    recollections: Recollections, guard: Guard, number: int
) -> tuple[Callable[..., object], Callable[..., object]]:
    """Return the synchronous injector and its asynchronous twin, which stands before it.

    Both are asked in an asynchronous chat, where the first leaves nothing to do for the second. (AG2 would leave the
    second out for the sake of a name with `a_` in front; to find that out it compares every function with every other
    at each reply, which costs more than asking.)
    """

    def inject(
        recipient: object,
        messages: list[Message] | None = None,
        sender: object = None,
        config: object = None,
    ) -> tuple[bool, None]:
        if messages is None or messages is _answered_here.get() or _is_unasked(config, sender):
            return NO_REPLY
        with guard.keep_recalling():
            if not is_stored(recipient, messages):
                recollections.show(recipient, sender, messages)
        return NO_REPLY

    async def a_inject(
        recipient: object,
        messages: list[Message] | None = None,
        sender: object = None,
        config: object = None,
    ) -> tuple[bool, None]:
        if messages is None or _is_unasked(config, sender):
            return NO_REPLY
        _answered_here.set(messages)
        with guard.keep_recalling():
            if not is_stored(recipient, messages):
                await recollections.ashow(recipient, sender, messages)
        return NO_REPLY

    inject.__name__ = f"memotel_recall_{number}"
    a_inject.__name__ = f"memotel_arecall_{number}"
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
