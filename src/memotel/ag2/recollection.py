"""What memory had for the words that an agent is about to answer: asked once per turn, shown in front of them."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from memotel.ag2.framework import formats_content
from memotel.ag2.messages import (
    Message,
    is_shown_by,
    original_of,
    question_index,
    show,
    text_of,
    words_of,
)
from memotel.client import MemoryClient
from memotel.memory.scopes import Scopes
from memotel.memory.template import ContextTemplate
from memotel.values import RecallResult, Scope


@dataclass(frozen=True, slots=True)
class Question:
    """The words that a reply answers, and where they stand in the list the reply functions get."""

    messages: list[Message]
    index: int
    text: str
    scope: Scope

    @property
    def is_last(self) -> bool:
        """Whether nothing was said or done since: the turn begins here."""
        return self.index == len(self.messages) - 1


@dataclass(frozen=True, slots=True)
class Recollection:
    """The block that answers a question, "" where memory had nothing."""

    question: Question
    block: str

    def answers(self, question: Question) -> bool:
        """Whether it is the same turn: the same reply being made, or its tool calls going on."""
        known = self.question
        is_same = known.text == question.text and known.scope == question.scope
        return is_same and (known.messages is question.messages or not question.is_last)


class _Nobody:
    """Stands for the sender where a program calls an agent directly."""


_NOBODY = _Nobody()


class Recollections:
    """Recalls for one capability and remembers the current block of each conversation of each agent."""

    def __init__(self, client: MemoryClient, scopes: Scopes, template: ContextTemplate) -> None:
        self._client = client
        self._scopes = scopes
        self._template = template
        self._latest: WeakKeyDictionary[object, WeakKeyDictionary[object, Recollection]] = (
            WeakKeyDictionary()
        )

    def show(self, agent: object, sender: object, messages: list[Message]) -> None:
        """Put the block in front of the question in `messages`; waits at most the recall budget."""
        question = self._question(messages)
        if question is None:
            return
        block = self._known(agent, sender, question)
        if block is None:
            name = str(getattr(agent, "name", "")) or None
            result = self._client.recall(question.scope, question.text, agent=name)
            block = self._learn(agent, sender, question, result)
        self._show(agent, question, block)

    async def ashow(self, agent: object, sender: object, messages: list[Message]) -> None:
        """Put the block in front of the question in `messages` without blocking the loop."""
        question = self._question(messages)
        if question is None:
            return
        block = self._known(agent, sender, question)
        if block is None:
            name = str(getattr(agent, "name", "")) or None
            result = await self._client.arecall(question.scope, question.text, agent=name)
            block = self._learn(agent, sender, question, result)
        self._show(agent, question, block)

    def were_asked(self, messages: list[Message]) -> bool:
        """Whether a model that is given `messages` was reached by way of `show`, or they hold no question."""
        index = question_index(messages)
        return index is None or is_shown_by(messages[index], self)

    def _question(self, messages: list[Message]) -> Question | None:
        index = question_index(messages)
        if index is None:
            return None
        original = original_of(messages[index])
        text = words_of(original, is_first=index == 0) or text_of(original)
        return Question(messages, index, text, self._scopes.current())

    def _known(self, agent: object, sender: object, question: Question) -> str | None:
        per_sender = self._latest.get(agent)
        found = per_sender.get(_key(sender)) if per_sender is not None else None
        return found.block if found is not None and found.answers(question) else None

    def _learn(
        self, agent: object, sender: object, question: Question, result: RecallResult
    ) -> str:
        block = self._template.render(result.context)
        per_sender = self._latest.setdefault(agent, WeakKeyDictionary())
        per_sender[_key(sender)] = Recollection(question, block)
        return block

    def _show(self, agent: object, question: Question, block: str) -> None:
        messages, index = question.messages, question.index
        if formats_content(agent, messages):
            block = block.replace("{", "{{").replace("}", "}}")
        messages[index] = show(messages[index], block, self)


def _key(sender: object) -> object:
    return _NOBODY if sender is None else sender
