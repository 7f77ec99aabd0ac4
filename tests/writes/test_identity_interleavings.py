"""Random conversations, seen by several hooks in any order: written is exactly what a simple reference model says.

The model: a person's words are told apart by how often they were said in their chat up to there, and chats of a session add
up; an agent's words are one per session. Chats open with words of their own, since a chat is known by its beginning. Nobody
says the same words so often in a row that they fill a hook's whole window: one more of them looks to it as before.
"""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memotel.outcomes import Speaker
from memotel.values import Scope, Turn
from memotel.writes.history import Line, times_said
from memotel.writes.identity import Sightings
from memotel.writes.occurrences import MAX_RUNS

H, A = Speaker.HUMAN, Speaker.AI
SCOPE = Scope("u", "s")
WORDS = st.sampled_from(["ok", "go on", "hello"])


@dataclass
class Chat:
    """One chat of the session, and what the model expects of it: for each of a person's texts, the times it was said."""

    lines: list[Line] = field(default_factory=list)
    said: dict[str, int] = field(default_factory=dict)


@dataclass
class Hook:
    """One observer of the current chat: how many lines it has seen, and how many it can see at once (0: all)."""

    name: str
    width: int
    seen: int = 0


class Interleavings(RuleBasedStateMachine):
    """A session in which chats go on, begin, are resumed, and go back to an earlier point."""

    @initialize(widths=st.lists(st.sampled_from([0, 0, 3, 6]), min_size=1, max_size=2))
    def open(self, widths: list[int]) -> None:
        self.sightings = Sightings("account")
        self.chats: list[Chat] = []
        self.replies = 0
        self.observers = 0
        self.agents_words: set[str] = set()
        self.written: list[tuple[Speaker, str, int]] = []
        self.hooks = [Hook(f"hook {number}", width) for number, width in enumerate(widths)]
        self.begin()

    @property
    def chat(self) -> Chat:
        return self.chats[-1]

    @precondition(lambda self: len(self.chats) < MAX_RUNS)
    @rule()
    def begin(self) -> None:
        """A new chat, whose history holds nothing of the others."""
        if self.chats:
            self.all_catch_up()
        number = len(self.chats)
        self.chats.append(Chat())
        for hook in self.hooks:
            hook.seen = 0
        self._say(H, f"opening {number}")
        self._look(self.hooks[0])

    @rule(text=WORDS, first=st.booleans())
    def person_says(self, text: str, first: bool) -> None:
        if any(self._is_filled(hook, (H, text)) for hook in self.hooks):
            return
        self._say(H, text)
        self._look(self.hooks[0 if first else -1])

    @rule(is_identical=st.booleans())
    def agent_says(self, is_identical: bool) -> None:
        self.replies += 1
        self._say(A, "how can I help?" if is_identical else f"reply {self.replies}")

    @rule(which=st.integers(0, 1))
    def hook_catches_up(self, which: int) -> None:
        self._look(self.hooks[which % len(self.hooks)])

    @precondition(
        lambda self: len(self.chat.lines) > 2 and not any(hook.width for hook in self.hooks)
    )
    @rule(back=st.integers(1, 4))
    def regenerate(self, back: int) -> None:
        """Go back to an earlier line of the chat; it is answered anew, in other words.

        Not to the very first line: alone, it is how a new chat with the same words looks.
        """
        self.all_catch_up()
        keep = max(2, len(self.chat.lines) - back)
        del self.chat.lines[keep:]
        for hook in self.hooks:
            self._see(hook, keep - 1)
            hook.seen = keep
        self.agent_says(is_identical=False)
        self.all_catch_up()

    @precondition(lambda self: len(self.chats) > 1)
    @rule(which=st.integers(0, 10))
    def resume(self, which: int) -> None:
        """An earlier chat goes on; each hook is handed all of its history again, by an agent made anew."""
        self.all_catch_up()
        chat = self.chats.pop(which % (len(self.chats) - 1))
        if len(chat.lines) < 2:
            chat.lines.append((A, f"late reply {len(self.chats)} {self.replies}"))
            self.agents_words.add(chat.lines[-1][1])
        self.chats.append(chat)
        self.observers += 1
        for hook in self.hooks:
            hook.name = f"{hook.name.partition(':')[0]}:{self.observers}"
            for at in range(len(chat.lines)):
                self._see(hook, at, is_complete=True)
            hook.seen = len(chat.lines)

    def _is_filled(self, hook: Hook, line: Line) -> bool:
        """Whether all that the hook sees of the chat, its beginning apart, is this line already."""
        return 0 < hook.width < len(self.chat.lines) and set(self.chat.lines[-hook.width :]) == {
            line
        }

    def all_catch_up(self) -> None:
        for hook in self.hooks:
            self._look(hook)

    def _say(self, speaker: Speaker, text: str) -> None:
        line = (speaker, text)
        self.chat.lines.append(line)
        if speaker is A:
            self.agents_words.add(text)
        else:
            nth = times_said(self.chat.lines, line)
            self.chat.said[text] = max(self.chat.said.get(text, 0), nth)
        for hook in self.hooks:
            if hook.width:
                self._look(hook)

    def _look(self, hook: Hook) -> None:
        for at in range(hook.seen, len(self.chat.lines)):
            self._see(hook, at)
        hook.seen = len(self.chat.lines)

    def _see(self, hook: Hook, at: int, *, is_complete: bool = False) -> None:
        lines = self.chat.lines if is_complete else self.chat.lines[: at + 1]
        shown = lines[-hook.width :] if hook.width and not is_complete else lines
        speaker, text = lines[at]
        turn = Turn(SCOPE, speaker, text, observer=hook.name)
        found = self.sightings.see(turn, tuple(shown), at if is_complete else None)
        if found.kind is None:
            self.written.append((speaker, text, found.occurrence))

    @invariant()
    def nothing_is_written_twice(self) -> None:
        if hasattr(self, "written"):
            assert len(self.written) == len(set(self.written))

    def teardown(self) -> None:
        if not hasattr(self, "written"):
            return
        self.all_catch_up()
        self.nothing_is_written_twice()
        expected = {(A, text, 1) for text in self.agents_words}
        texts = {text for chat in self.chats for text in chat.said}
        for text in texts:
            times = sum(chat.said.get(text, 0) for chat in self.chats)
            expected |= {(H, text, nth) for nth in range(1, times + 1)}
        assert set(self.written) == expected


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
