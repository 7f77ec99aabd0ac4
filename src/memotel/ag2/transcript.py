"""What was said in each conversation, as an attached agent can see it, and which of it is new."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from memotel.ag2.hearing import Hearing, Utterance
from memotel.ag2.messages import Message
from memotel.outcomes import Speaker
from memotel.values import Scope

MAX_DIRECT_CALLERS = 1_000

History = list[tuple[Speaker, str]]


@dataclass(frozen=True, slots=True)
class News:
    """One utterance that was not seen before.

    Attributes:
        utterance: who said what.
        history: (speaker, words) of all that was said by now.
        at: which line of `history` it is.
        is_current: whether it surely belongs to what goes on here and now: it is the last message.
    """

    utterance: Utterance
    history: History
    at: int
    is_current: bool


@dataclass(slots=True)
class Conversation:
    """One agent's view of one history list. The list may grow, be trimmed, or be cleared for a new chat.

    Attributes:
        heard: every utterance of this run, also those that have been trimmed away since.
        scope: whose memory this run's news went to last.
        sent: own messages that were seen when they were sent, and not yet in the list.
    """

    heard: History = field(default_factory=list)
    scope: Scope | None = None
    sent: int = 0
    _count: int = 0
    _last: Message | None = None

    def advance(self, messages: Sequence[Message], hearing: Hearing) -> list[News]:
        """Take in what is new in `messages`, oldest first, leaving out own messages that were seen being sent."""
        found: list[tuple[Utterance, int, bool]] = []
        end = len(messages)
        for index in range(self._resume(messages), end):
            message = messages[index]
            was_seen = self._was_seen(message)
            utterance = hearing.hear(message, is_first=index == 0)
            if utterance is None:
                continue
            self.heard.append((utterance.speaker, utterance.text))
            if not was_seen:
                found.append((utterance, len(self.heard) - 1, index == end - 1))
        self._count = end
        self._last = messages[end - 1] if end else None
        history = self.heard[:] if found else []
        return [News(utterance, history, at, is_last) for utterance, at, is_last in found]

    def _was_seen(self, message: Message) -> bool:
        if message.get("role") not in ("assistant", "tool", "function") or self.sent == 0:
            return False
        self.sent -= 1
        return True

    def _resume(self, messages: Sequence[Message]) -> int:
        """Return where the new messages begin; a list that does not hold the last one seen is a new run."""
        if self._last is None:
            return 0
        at = min(self._count, len(messages)) - 1
        while at >= 0 and messages[at] is not self._last:
            at -= 1
        if at < 0:
            self.heard, self.sent, self.scope = [], 0, None
        return at + 1


@dataclass(slots=True)
class DirectCalls:
    """What programs passed to one agent's `generate_reply` themselves: the latest history for each scope."""

    _latest: OrderedDict[Scope, tuple[int, int]] = field(default_factory=OrderedDict)

    def advance(self, scope: Scope, history: History) -> int:
        """Return how much of `history` was passed before: 0 where it does not continue the last one."""
        count, digest = self._latest.get(scope, (0, 0))
        is_continued = count <= len(history) and hash(tuple(history[:count])) == digest
        self._latest[scope] = (len(history), hash(tuple(history)))
        self._latest.move_to_end(scope)
        if len(self._latest) > MAX_DIRECT_CALLERS:
            self._latest.popitem(last=False)
        return count if is_continued else 0


class Transcripts:
    """The conversations of every attached agent; an agent that is gone takes its own with it."""

    def __init__(self) -> None:
        self._conversations: WeakKeyDictionary[object, WeakKeyDictionary[object, Conversation]]
        self._conversations = WeakKeyDictionary()
        self._direct: WeakKeyDictionary[object, DirectCalls] = WeakKeyDictionary()

    def conversation(self, agent: object, partner: object) -> Conversation:
        """Return the agent's view of its conversation with `partner`."""
        with_partners = self._conversations.get(agent)
        if with_partners is None:
            with_partners = self._conversations[agent] = WeakKeyDictionary()
        conversation = with_partners.get(partner)
        if conversation is None:
            conversation = with_partners[partner] = Conversation()
        return conversation

    def direct_calls(self, agent: object) -> DirectCalls:
        """Return what programs passed to the agent themselves."""
        return self._direct.setdefault(agent, DirectCalls())

    def forget(self, agent: object) -> None:
        """Drop everything about an agent."""
        self._conversations.pop(agent, None)
        self._direct.pop(agent, None)
