"""AG2's message dictionaries."""

import copy
import json
import pickle

import pytest

from memotel.ag2.messages import (
    Message,
    ShownMessage,
    question_index,
    show,
    text_of,
    withdraw,
    words_of,
)

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "hi"}, "hi"),
        ({"content": None}, ""),
        ({}, ""),
        (
            {"content": [{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}]},
            "a\nb",
        ),
        ({"content": ["a", IMAGE]}, "a"),
        ({"content": [IMAGE]}, ""),
        ({"content": lambda context: f"hi {context['n']}", "context": {"n": "Ada"}}, "hi Ada"),
        ({"content": lambda context: "never", "context": None}, ""),
    ],
)
def test_text_of_every_kind_of_content(message: Message, text: str) -> None:
    assert text_of(message) == text


USER: Message = {"role": "user", "content": "hello there"}


@pytest.mark.parametrize(
    ("messages", "index"),
    [
        ([], None),
        ([USER], 0),
        ([{"content": "no role"}], 0),
        ([USER, {"role": "assistant", "content": "hi"}], 0),
        ([USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}], 0),
        ([USER, {"role": "tool", "content": "42", "tool_responses": [{}]}], 0),
        ([USER, {"role": "user", "content": "stop", "tool_responses": [{"role": "tool"}]}], 0),
        ([USER, {"role": "user", "content": "None", "tool_calls": [CALL]}], 0),
        ([USER, {"role": "user", "content": [IMAGE]}], 0),
        ([USER, {"role": "user", "content": "  "}], 0),
        ([{"role": "system", "content": "be good"}], None),
    ],
)
def test_question_is_the_last_words_of_somebody_else(
    messages: list[Message], index: int | None
) -> None:
    assert question_index(messages) == index


def test_show_keeps_the_shape_of_text() -> None:
    assert show(USER, "[M]\n\n", object()) == {"role": "user", "content": "[M]\n\nhello there"}
    assert USER["content"] == "hello there"


def test_show_puts_a_text_part_in_front_of_the_first_text() -> None:
    message: Message = {"role": "user", "content": [IMAGE, {"type": "text", "text": "hi"}]}
    shown = show(message, "[M]", object())
    assert shown["content"] == [
        IMAGE,
        {"type": "text", "text": "[M]"},
        {"type": "text", "text": "hi"},
    ]
    assert message["content"] == [IMAGE, {"type": "text", "text": "hi"}]


def test_show_keeps_a_template_a_template() -> None:
    message: Message = {"content": lambda context: f"hi {context['n']}", "context": {"n": "Ada"}}
    content = show(message, "[M] {n} ", object())["content"]
    assert callable(content)
    assert content({"n": "Ada"}) == "[M] {n} hi Ada"


def test_withdraw_puts_back_the_very_same_messages() -> None:
    first, second = object(), object()
    messages: list[Message] = [USER, {"role": "assistant", "content": "hi"}]
    untouched = list(messages)
    messages[0] = show(show(messages[0], "[1]", first), "[2]", second)
    assert messages[0]["content"] == "[2][1]hello there"
    withdraw(messages)
    assert all(now is before for now, before in zip(messages, untouched, strict=True))


def test_show_shows_once_for_each_memory() -> None:
    memory = object()
    once = show(USER, "[M]", memory)
    assert show(once, "[M]", memory) is once


def test_a_context_that_ag2_uses_up_is_used_up_in_the_original() -> None:
    message: Message = {"content": "hi", "context": {"n": 1}}
    shown = show(message, "[M]", object())
    assert shown.pop("context", None) == {"n": 1}
    assert "context" not in message
    shown.pop("content")
    assert message["content"] == "hi"


def test_a_shown_message_copies_as_a_plain_one() -> None:
    shown = show({"role": "user", "content": ["a"]}, "[M]", lambda: None)
    for twin in (copy.deepcopy(shown), copy.copy(shown), pickle.loads(pickle.dumps(shown))):  # noqa: S301 # our own bytes
        assert type(twin) is dict
        assert twin == shown
    assert json.loads(json.dumps(shown)) == shown
    assert isinstance(shown, ShownMessage)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "assistant", "content": "None", "tool_calls": [CALL]},
        {"role": "assistant", "content": "calling", "function_call": {"name": "f"}},
        {"role": "tool", "content": "42", "tool_responses": [{"content": "42"}]},
        {"role": "function", "name": "f", "content": "42"},
        {"role": "system", "content": "be good"},
        {"role": "user", "content": "exitcode: 0 (execution succeeded)\nCode output: 42\n"},
        {"role": "user", "content": "exitcode: -9 (execution failed)\nCode output: "},
        {"role": "user", "content": "exit"},
        {"role": "user", "content": " TERMINATE.\n"},
        {"role": "user", "content": "[Handing off to billing]"},
        {"role": "user", "content": "\nContext: \nwhat was said before"},
        {"role": "user", "content": ""},
    ],
)
def test_plumbing_has_no_words(message: Message) -> None:
    assert words_of(message) == ""


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("hello", "hello"),
        ("None", "None"),
        ("The answer is 4. TERMINATE", "The answer is 4. TERMINATE"),
        ("task\nContext: \nprior summary", "task"),
        (
            [
                {"type": "text", "text": "\nContext: \nprior"},
                {"type": "text", "text": "look"},
                IMAGE,
            ],
            "look",
        ),
        ("what does exitcode: 0 mean?", "what does exitcode: 0 mean?"),
    ],
)
def test_words_are_what_somebody_said(content: object, words: str) -> None:
    assert words_of({"role": "user", "content": content}) == words


def test_what_a_nested_chat_carries_over_is_no_words_of_its_opening() -> None:
    message: Message = {"role": "assistant", "content": "review this\nContext:\nall that was said"}
    assert words_of(message, is_first=True) == "review this"
    assert words_of(message) == "review this\nContext:\nall that was said"


def test_what_a_person_says_over_an_interrupted_tool_are_words() -> None:
    message: Message = {"role": "user", "content": "stop it", "tool_responses": [{"role": "tool"}]}
    assert words_of(message) == "stop it"
