"""Which utterances are one and which are two: each sentence of the rule, and properties over random conversations."""

import threading
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memotel.outcomes import DedupeKind, Speaker
from memotel.values import Scope, Turn
from memotel.writes.history import Line, Place, Run, View, line_hash, times_said
from memotel.writes.identity import Sighting, Sightings
from memotel.writes.known import KnownKeys
from memotel.writes.occurrences import Occurrences, Session

H, A = Speaker.HUMAN, Speaker.AI
SCOPE = Scope("u", "s")


@dataclass
class Hook:
    """One observer of a conversation."""

    sightings: Sightings
    name: str = "agent/received"
    scope: Scope = SCOPE
    lines: list[Line] = field(default_factory=list)

    def sees(self, *history: Line, message_id: str | None = None) -> Sighting:
        """The hook fires on the last of these lines."""
        turn = self._turn(history[-1], message_id)
        return self.sightings.see(turn, history)

    def catches_up(self, *history: Line) -> list[Sighting]:
        """The hook finds these lines all at once and hands them over one by one."""
        return [
            self.sightings.see(self._turn(line), history, at) for at, line in enumerate(history)
        ]

    def hears(self, speaker: Speaker, text: str) -> Sighting:
        """One more line of the hook's conversation."""
        self.lines.append((speaker, text))
        return self.sees(*self.lines)

    def alone(self, text: str, speaker: Speaker = H, message_id: str | None = None) -> Sighting:
        """The hook sees no history."""
        return self.sightings.see(self._turn((speaker, text), message_id), None)

    def _turn(self, line: Line, message_id: str | None = None) -> Turn:
        return Turn(self.scope, line[0], line[1], message_id=message_id, observer=self.name)


@pytest.fixture
def sightings() -> Sightings:
    return Sightings("account")


def occurrences(*found: Sighting) -> list[int]:
    return [sighting.occurrence for sighting in found if sighting.kind is None]


def test_two_hooks_that_see_one_utterance_give_one_write(sightings: Sightings) -> None:
    sender, receiver = Hook(sightings, "a/sent"), Hook(sightings, "b/received")
    assert sender.hears(H, "hello").kind is None
    echo = receiver.hears(H, "hello")
    assert echo.kind is DedupeKind.ECHO


def test_the_same_hook_again_is_a_redelivery(sightings: Sightings) -> None:
    hook = Hook(sightings)
    first, again = hook.sees((H, "hello")), hook.sees((H, "hello"))
    assert (first.kind, again.kind) == (None, DedupeKind.REDELIVERY)
    assert first.key == again.key


def test_three_agents_of_a_group_chat_give_one_write_each_line(sightings: Sightings) -> None:
    chat = [(H, "hello"), (A, "hi"), (H, "what is up"), (A, "not much")]
    first = Hook(sightings, "one")
    assert [first.hears(*line).kind for line in chat] == [None] * 4
    for name in ("two", "three"):
        late = Hook(sightings, name)
        assert {found.kind for found in late.catches_up(*chat)} == {DedupeKind.ECHO}


def test_an_agent_that_joins_late_line_by_line_gives_no_second_write(sightings: Sightings) -> None:
    chat = [(H, "hello"), (A, "hi"), (H, "hello"), (A, "hi again")]
    first, late = Hook(sightings, "one"), Hook(sightings, "two")
    for line in chat:
        first.hears(*line)
    assert {late.hears(*line).kind for line in chat} == {DedupeKind.ECHO}
    assert occurrences(first.hears(H, "hello"), late.hears(H, "hello")) == [3]


def test_a_message_that_is_answered_twice_gives_one_write(sightings: Sightings) -> None:
    hook = Hook(sightings)
    chat = [(H, "hello"), (A, "hi"), (H, "tell me"), (A, "this"), (H, "hello"), (A, "again?")]
    for end in range(1, 7):
        hook.sees(*chat[:end])
    assert hook.sees(*chat[:3]).kind is DedupeKind.REDELIVERY
    assert hook.sees(*chat[:3], (A, "that")).kind is None
    assert hook.sees(*chat[:3], (A, "that"), (H, "hello")).kind is DedupeKind.REDELIVERY
    assert hook.sees(*chat[:3], (A, "that"), (H, "thanks")).kind is None


def test_a_chat_that_resumes_with_its_history_gives_none_again(sightings: Sightings) -> None:
    chat = [(H, "hello"), (A, "hi"), (H, "bye")]
    before, after = Hook(sightings, "before"), Hook(sightings, "after")
    for line in chat:
        before.hears(*line)
    resumed = after.catches_up(*chat, (H, "hello"))
    assert occurrences(*resumed) == [2]


def test_a_resumed_chat_that_another_chat_interrupted_gives_none_again(
    sightings: Sightings,
) -> None:
    hook = Hook(sightings)
    chat = [(H, "hello"), (A, "hi"), (H, "bye")]
    for end in range(1, 4):
        hook.sees(*chat[:end])
    assert hook.sees((H, "something else")).kind is None
    assert hook.sees(*chat).kind is DedupeKind.REDELIVERY
    assert hook.sees(*chat, (A, "bye bye"), (H, "bye")).occurrence == 2


@pytest.mark.parametrize("width", [2, 3, 5])
def test_trimmed_history_loses_nothing(sightings: Sightings, width: int) -> None:
    hook = Hook(sightings)
    found = []
    for index in range(40):
        hook.lines.append((H, "ok") if index % 2 == 0 else (A, f"reply {index}"))
        found.append(hook.sees(*hook.lines[-width:]))
    assert [sighting.kind for sighting in found] == [None] * 40
    assert occurrences(*found[::2]) == list(range(1, 21))


def test_hooks_with_windows_of_different_width_agree(sightings: Sightings) -> None:
    hooks = [Hook(sightings, f"w{width}") for width in (100, 6, 3)]
    new = 0
    lines: list[Line] = []
    for index in range(60):
        lines.append((H, "ok") if index % 2 == 0 else (A, f"reply {index}"))
        windows = (lines, lines[-6:], lines[-3:])
        pairs = zip(hooks, windows, strict=True)
        new += sum(hook.sees(*window).kind is None for hook, window in pairs)
    assert new == 60


def test_words_said_again_on_purpose_in_the_same_chat_are_two(sightings: Sightings) -> None:
    hook = Hook(sightings)
    found = [hook.hears(H, "ok"), hook.hears(A, "sure"), hook.hears(H, "ok")]
    assert occurrences(found[0], found[2]) == [1, 2]
    assert found[0].key != found[2].key


def test_words_said_again_on_purpose_in_a_new_chat_are_two(sightings: Sightings) -> None:
    chat = [(H, "hello"), (A, "hi"), (H, "bye")]
    for time in (1, 2, 3):
        sender, receiver = Hook(sightings, "a/sent"), Hook(sightings, "b/received")
        found = [sender.hears(*line) for line in chat]
        assert occurrences(found[0], found[2]) == [time, time]
        assert {receiver.hears(*line).kind for line in chat} == {DedupeKind.ECHO}


def test_a_new_chat_of_an_agent_made_anew_is_told_from_a_late_joiner(sightings: Sightings) -> None:
    for time in (1, 2):
        hook = Hook(sightings, f"context {time}")
        assert occurrences(hook.catches_up((H, "hello"))[0]) == [time]
        assert hook.sightings.see(
            Turn(SCOPE, A, "hi", observer=hook.name), [(H, "hello"), (A, "hi")], 1
        ).kind is (None if time == 1 else DedupeKind.ECHO)


def test_an_agents_identical_reply_is_one_per_session(sightings: Sightings) -> None:
    hook = Hook(sightings)
    kinds = [hook.hears(A, "how can I help?").kind for _ in range(3)]
    assert kinds == [None, DedupeKind.REDELIVERY, DedupeKind.REDELIVERY]


@pytest.mark.parametrize(
    ("account", "scope", "speaker"),
    [
        ("other", SCOPE, H),
        ("account", Scope("other", "s"), H),
        ("account", Scope("u", "other"), H),
        ("account", SCOPE, A),
    ],
)
def test_another_account_user_session_or_speaker_has_its_own(
    sightings: Sightings, account: str, scope: Scope, speaker: Speaker
) -> None:
    first = Hook(sightings).hears(H, "hello")
    elsewhere = sightings if account == "account" else Sightings(account)
    second = Hook(elsewhere, scope=scope).hears(speaker, "hello")
    assert second.kind is None
    assert second.key != first.key


def test_a_fresh_process_finds_the_same_keys(sightings: Sightings) -> None:
    chat = [(H, "hello"), (A, "hi"), (H, "hello")]
    live = Hook(sightings)
    keys = [live.hears(*line).key for line in chat]
    assert [Hook(Sightings("account")).sees(*chat[:end]).key for end in (1, 2, 3)] == keys


def test_a_message_id_tells_utterances_apart(sightings: Sightings) -> None:
    one, two = Hook(sightings, "one"), Hook(sightings, "two")
    assert occurrences(one.alone("ok", message_id="m1")) == [1]
    assert two.alone("ok", message_id="m1").kind is DedupeKind.ECHO
    assert one.alone("ok", message_id="m1").kind is DedupeKind.REDELIVERY
    assert occurrences(two.alone("ok", message_id="m2")) == [2]


def test_a_new_message_id_is_a_repeat_also_where_the_history_looks_the_same(
    sightings: Sightings,
) -> None:
    hook = Hook(sightings)
    found = [hook.sees((H, "ok"), message_id=f"m{number}") for number in range(3)]
    assert occurrences(*found) == [1, 2, 3]


def test_without_a_history_each_sighting_by_one_observer_is_an_utterance(
    sightings: Sightings,
) -> None:
    one, two = Hook(sightings, "one"), Hook(sightings, "two")
    assert occurrences(one.alone("ok"), one.alone("ok")) == [1, 2]
    assert {two.alone("ok").kind for _ in range(2)} == {DedupeKind.ECHO}
    assert occurrences(two.alone("ok")) == [3]


def test_what_was_said_without_a_history_counts_as_said(sightings: Sightings) -> None:
    hook = Hook(sightings)
    assert occurrences(hook.alone("ok"), hook.hears(H, "ok")) == [1, 2]


def test_two_chats_of_one_session_side_by_side_lose_nothing(sightings: Sightings) -> None:
    outer, inner = Hook(sightings, "outer"), Hook(sightings, "inner")
    found = []
    for index in range(10):
        found.append(outer.hears(H, "go on" if index else "outer begins"))
        found.append(inner.hears(H, "go on" if index else "inner begins"))
        outer.hears(A, f"outer {index}")
        inner.hears(A, f"inner {index}")
    assert [sighting.kind for sighting in found] == [None] * 20
    assert sorted(occurrences(*found[2:])) == list(range(1, 19))


def test_the_same_words_in_another_unicode_form_are_the_same(sightings: Sightings) -> None:
    one, two = Hook(sightings, "one"), Hook(sightings, "two")
    assert one.hears(H, "caf\u00e9").kind is None
    assert two.hears(H, "cafe\u0301").kind is DedupeKind.ECHO
    one.hears(A, "oui")
    assert occurrences(one.hears(H, "cafe\u0301")) == [2]


def test_a_turn_that_the_history_leaves_out_stands_at_its_end(sightings: Sightings) -> None:
    turn = Turn(SCOPE, H, "hello", observer="a")
    assert occurrences(sightings.see(turn, [(A, "how can I help?")])) == [1]
    again = Turn(SCOPE, H, "hello", observer="b")
    assert sightings.see(again, [(A, "how can I help?"), (H, "hello")]).kind is DedupeKind.ECHO


def test_forgotten_keys_can_be_written_again(sightings: Sightings) -> None:
    hook = Hook(sightings)
    first = hook.hears(A, "hello")
    sightings.forget(first.key)
    assert hook.sees((A, "hello")).kind is None


LINES = st.lists(
    st.tuples(st.sampled_from([H, A]), st.sampled_from("abc")), min_size=1, max_size=25
)


@given(chats=st.lists(LINES, min_size=1, max_size=4), hooks=st.integers(1, 4))
@settings(deadline=None, max_examples=150)
def test_every_persons_line_is_written_once_whoever_sees_it(
    chats: list[list[Line]], hooks: int
) -> None:
    """Chats one after another, each seen whole by every hook as it goes on.

    A new chat is known by its beginning alone, so each opens with words of its own here; the case of equal openings
    has tests of its own.
    """
    sightings, written = Sightings("account"), []
    for number, body in enumerate(chats):
        chat = [(H, f"opening {number}"), *body]
        for end in range(1, len(chat) + 1):
            for hook in range(hooks):
                found = Hook(sightings, f"{hook}").sees(*chat[:end])
                if found.kind is None:
                    written.append((chat[end - 1], found.occurrence))
    said = [line for chat in chats for line in chat if line[0] is H]
    of_people = [(line, nth) for line, nth in written if line[0] is H and len(line[1]) == 1]
    assert sorted(line for line, _ in of_people) == sorted(said)
    assert len(set(of_people)) == len(of_people)
    of_agents = [line for line, _ in written if line[0] is A]
    assert len(of_agents) == len(set(of_agents))


@given(lines=LINES, late=st.integers(1, 25))
@settings(deadline=None, max_examples=150)
def test_a_hook_that_joins_late_and_sees_it_all_writes_nothing_twice(
    lines: list[Line], late: int
) -> None:
    sightings = Sightings("account")
    first, second = Hook(sightings, "first"), Hook(sightings, "second")
    people = sum(line[0] is H for line in lines)
    agents = len({line for line in lines if line[0] is A})
    written = 0
    for end in range(1, len(lines) + 1):
        written += first.sees(*lines[:end]).kind is None
        if end >= min(late, len(lines)):
            written += sum(found.kind is None for found in second.catches_up(*lines[:end]))
    assert written == people + agents


@given(lines=LINES, said_again=LINES)
@settings(deadline=None, max_examples=150)
def test_an_occurrence_is_how_often_the_history_has_the_line(
    lines: list[Line], said_again: list[Line]
) -> None:
    """Also where the conversation turns out to be longer at its beginning, and goes on from there."""
    sightings = Sightings("account")
    hook = Hook(sightings)
    for end in range(1, len(lines) + 1):
        found = hook.sees(*lines[:end])
        assert found.occurrence == (
            lines[:end].count(lines[end - 1]) if lines[end - 1][0] is H else 1
        )
    before = [(H, "x"), (H, "y"), *lines]
    assert Hook(sightings, "other").sees(*before, (H, "new")).kind is None
    chat = [*before, (H, "new")]
    for line in said_again:
        chat.append(line)
        found = hook.sees(*chat)
        if line[0] is H:
            assert (found.kind, found.occurrence) == (None, chat.count(line))


def test_a_line_that_was_not_seen_when_it_was_said_counts_when_it_is_said_again(
    sightings: Sightings,
) -> None:
    hook, wide = Hook(sightings), Hook(sightings, "wide")
    chat = [(H, "a"), (A, "b"), (H, "c")]
    hook.sees(*chat)
    whole = [(H, "x"), (H, "y"), *chat, (H, "d")]
    wide.sees(*whole)
    assert wide.sees(*whole, (H, "x")).occurrence == 2


def test_words_said_again_on_another_branch_count_as_that_branch_has_them(
    sightings: Sightings,
) -> None:
    hook = Hook(sightings)
    chat = [(H, "hello"), (A, "hi"), (H, "tell me"), (A, "this")]
    for end in range(1, 5):
        hook.sees(*chat[:end])
    other = [*chat[:3], (A, "that")]
    assert hook.sees(*other).kind is None
    assert hook.sees(*other, (H, "tell me")).occurrence == 2
    assert hook.sees(*other, (H, "tell me"), (H, "tell me")).occurrence == 3


@pytest.mark.parametrize("forms", [("caf\u00e9", "cafe\u0301"), ("cafe\u0301", "caf\u00e9")])
def test_words_typed_on_two_keyboards_are_one_conversation(
    sightings: Sightings, forms: tuple[str, str]
) -> None:
    one, other = Hook(sightings, "one"), Hook(sightings, "other")
    chats = [[(H, form), (A, "where?"), (H, form), (A, "there")] for form in forms]
    for end in range(1, 5):
        first = one.sees(*chats[0][:end])
        assert other.sees(*chats[1][:end]).key == first.key
    again = one.sees(*chats[0], (H, forms[1]))
    assert (again.kind, again.occurrence) == (None, 3)


def test_a_session_that_forgot_its_oldest_words_counts_them_by_its_history() -> None:
    known = Occurrences(max_texts=8)
    lines: list[Line] = []
    for number in range(40):
        lines += [(H, f"text {number}"), (H, "again")]
        for end in (len(lines) - 1, len(lines)):
            line = lines[end - 1]
            view = View("hook", lines[:end], end - 1, is_complete=False)
            found = known.number(Turn(SCOPE, *line), view)
            assert found == lines[:end].count(line)


def test_eight_threads_that_see_the_same_utterances_write_each_once(sightings: Sightings) -> None:
    new: list[str] = []

    def observe(name: str) -> None:
        hook = Hook(sightings, name)
        for index in range(500):
            found = hook.sees((H, f"text {index}"), message_id=str(index))
            if found.kind is None:
                new.append(found.key)

    threads = [threading.Thread(target=observe, args=(str(n),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(new) == len(set(new)) == 500


def test_the_oldest_keys_are_forgotten_a_generation_at_a_time() -> None:
    known = KnownKeys(generation=2, generations=2)
    keys = [f"{number:032x}" for number in range(5)]
    for key in keys:
        assert known.see(key, "a") is None
    assert len(known) == 3
    assert [known.see(key, "b") for key in keys[2:]] == [DedupeKind.ECHO] * 3
    assert known.see(keys[0], "b") is None


def test_a_hundred_thousand_keys_are_remembered_at_once() -> None:
    known = KnownKeys()
    for number in range(250_000):
        known.see(f"{number:032x}", "a")
    assert all(known.see(f"{n:032x}", "a") for n in range(150_000, 250_000))


def test_two_views_that_have_parted_count_the_same_repeat_once(sightings: Sightings) -> None:
    """Two agents of a team hear both replies in different order, so neither view continues the other."""
    first, second = Hook(sightings, "first"), Hook(sightings, "second")
    assert first.sees((H, "tea")).occurrence == 1
    first.sees((H, "tea"), (A, "done"))
    second.catches_up((H, "tea"), (A, "done"), (A, "done"))
    again = first.sees((H, "tea"), (A, "done"), (H, "tea"))
    assert (again.occurrence, again.kind) == (2, None)
    first.sees((H, "tea"), (A, "done"), (H, "tea"), (A, "done"))
    turn = Turn(SCOPE, H, "tea", observer="second")
    seen = [(H, "tea"), (A, "done"), (A, "done"), (H, "tea"), (A, "done")]
    found = sightings.see(turn, seen, 3)
    assert (found.occurrence, found.kind) == (2, DedupeKind.ECHO)


def counted(session: Session, run: Run, place: Place, view: View) -> int:
    """Say which time in its run a view's turn is said, by counting all that the view shows."""
    line = view.lines[view.at]
    if place.is_whole:
        return times_said(view.lines[: view.at + 1], line)
    later = times_said(view.lines[view.at + 1 :], line)
    return max(1, session.in_run(line_hash(line), run.number) - later)


STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.booleans(), st.sampled_from([H, A]), st.sampled_from("ab")),
    min_size=1,
    max_size=30,
)


@given(STEPS)
@settings(deadline=None, max_examples=300)
def test_quick_way_finds_what_the_long_way_finds(
    steps: list[tuple[int, bool, Speaker, str]],
) -> None:
    """Observers whose views grow, each by its own lines, and begin anew: what goes on plainly is only found sooner."""

    def found() -> list[tuple[str, int, DedupeKind | None]]:
        sightings = Sightings("account")
        views: dict[int, list[Line]] = {}
        result = []
        for observer, begins_anew, speaker, text in steps:
            view = [] if begins_anew else views.get(observer, [])
            views[observer] = view = [*view, (speaker, text)]
            result.append(sightings.see(Turn(SCOPE, speaker, text, observer=str(observer)), view))
        return [tuple(each) for each in result]

    quick = found()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "is_continued", lambda self, view: False)
        patch.setattr(Session, "_nth", counted)
        assert found() == quick


def test_what_was_taken_back_and_is_said_again_counts_once(sightings: Sightings) -> None:
    hook = Hook(sightings)
    asked, answered, said = (H, "which tea?"), (A, "green"), (H, "ok")
    assert [hook.hears(*line).occurrence for line in (asked, answered, said)] == [1, 1, 1]
    late = Hook(sightings, "late")
    late.catches_up(asked, answered, said)
    late.lines = [asked, answered]
    late.sees(*late.lines)
    late.hears(A, "or black")
    assert late.hears(*said).kind is DedupeKind.ECHO
    other = Hook(sightings, "late")
    other.hears(H, "another chat")
    assert other.hears(*said).occurrence == 2


def test_words_that_come_round_again_are_not_counted_twice_for_a_hook_that_lags(
    sightings: Sightings,
) -> None:
    said = ["opening", *2 * ["ok", "hello", "ok", "ok", "ok", "go_on"]]
    lines = [(H, text) for text in said]
    narrow, whole = Hook(sightings, "narrow"), Hook(sightings, "whole")
    found = []
    for end in range(1, len(lines) + 1):
        found.append(narrow.sees(*lines[max(0, end - 3) : end]))
        if end != len(lines) - 1:
            found += [whole.sees(*lines[:end])]
    late = whole.sees(*lines[:-1])
    assert late.kind is not None
    assert len(occurrences(*found, late)) == len(lines)


def test_a_narrow_window_goes_on_with_the_chat_that_its_hook_saw_last(
    sightings: Sightings,
) -> None:
    hook = Hook(sightings)
    numbers = []
    for chat in range(2):
        lines = [(H, f"opening {chat}"), (A, "how can I help?"), (H, "go on"), (H, "go on")]
        for end in range(1, len(lines) + 1):
            numbers += occurrences(hook.sees(*lines[max(0, end - 3) : end]))
    assert numbers == [1, 1, 1, 2, 1, 3, 4]
