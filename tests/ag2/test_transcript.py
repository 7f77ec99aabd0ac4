"""What is new in a conversation: lists that grow, shrink, begin anew, or come from a program."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memotel.ag2.hearing import Hearing
from memotel.ag2.messages import Message
from memotel.ag2.transcript import MAX_DIRECT_CALLERS, Conversation, DirectCalls, Transcripts
from memotel.outcomes import Speaker
from memotel.values import Scope


class Agent:
    """Nothing but a name."""

    def __init__(self, name: str) -> None:
        self.name = name


HEARING = Hearing(Agent("helper"), Agent("ada"), lambda text: text)


def said(text: str, role: str = "user") -> Message:
    return {"role": role, "content": text}


def news(conversation: Conversation, messages: list[Message]) -> list[str]:
    return [one.utterance.text for one in conversation.advance(messages, HEARING)]


def test_a_list_that_grows_gives_what_is_new() -> None:
    conversation, messages = Conversation(), [said("one")]
    assert news(conversation, messages) == ["one"]
    assert news(conversation, messages) == []
    messages += [said("two", "assistant"), said("three")]
    assert news(conversation, messages) == ["two", "three"]


def test_own_messages_that_were_seen_being_sent_are_no_news() -> None:
    conversation, messages = Conversation(), [said("one")]
    news(conversation, messages)
    conversation.sent += 1
    messages += [said("two", "assistant"), said("three")]
    found = conversation.advance(messages, HEARING)
    assert [one.utterance.text for one in found] == ["three"]
    assert [text for _, text in found[0].history] == ["one", "two", "three"]
    assert found[0].history[found[0].at] == (Speaker.HUMAN, "three")


def test_a_list_that_is_trimmed_carries_on() -> None:
    conversation, messages = Conversation(), [said("one"), said("two"), said("three")]
    news(conversation, messages)
    trimmed = [*messages[-1:], said("four")]
    found = conversation.advance(trimmed, HEARING)
    assert [one.utterance.text for one in found] == ["four"]
    assert [text for _, text in found[0].history] == ["one", "two", "three", "four"]


def test_a_list_that_is_cleared_is_a_new_run() -> None:
    conversation = Conversation()
    conversation.advance([said("one"), said("two")], HEARING)
    conversation.scope, conversation.sent = Scope("ada"), 1
    assert news(conversation, [said("one")]) == ["one"]
    assert (conversation.scope, conversation.sent) == (None, 0)
    assert [text for _, text in conversation.heard] == ["one"]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=30))
def test_every_message_is_news_once_however_the_list_is_read(steps: list[Any]) -> None:
    conversation, messages, found = Conversation(), [], []
    for many, trims in steps:
        messages += [said(f"m{len(found)}-{number}") for number in range(many)]
        found += news(conversation, messages)
        if trims and messages:
            messages = messages[-1:]
    assert len(found) == sum(many for many, _ in steps)
    assert [text for _, text in conversation.heard] == found


def test_direct_calls_know_what_was_passed_before() -> None:
    calls, scope = DirectCalls(), Scope("ada")
    first = [(Speaker.HUMAN, "one")]
    longer = [*first, (Speaker.AI, "two"), (Speaker.HUMAN, "three")]
    assert calls.advance(scope, first) == 0
    assert calls.advance(scope, first) == 1
    assert calls.advance(scope, longer) == 1
    assert calls.advance(scope, [(Speaker.HUMAN, "other")]) == 0
    assert calls.advance(Scope("bob"), longer) == 0


def test_direct_calls_forget_who_was_quiet_longest() -> None:
    calls, line = DirectCalls(), [(Speaker.HUMAN, "one")]
    for number in range(MAX_DIRECT_CALLERS + 1):
        calls.advance(Scope(f"user{number}"), line)
    assert calls.advance(Scope("user0"), line) == 0
    assert calls.advance(Scope(f"user{MAX_DIRECT_CALLERS}"), line) == 1


def test_a_forgotten_agent_has_no_past() -> None:
    transcripts, agent, partner = Transcripts(), Agent("helper"), Agent("ada")
    transcripts.conversation(agent, partner).heard.append((Speaker.HUMAN, "one"))
    transcripts.direct_calls(agent).advance(Scope("ada"), [(Speaker.HUMAN, "one")])
    transcripts.forget(agent)
    assert transcripts.conversation(agent, partner).heard == []
    assert transcripts.direct_calls(agent).advance(Scope("ada"), [(Speaker.HUMAN, "one")]) == 0
