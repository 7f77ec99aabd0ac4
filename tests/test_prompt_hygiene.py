"""What goes to the service as a prompt and comes back as text to show, end to end: bounded, clean, and each cut seen."""

import json
from collections.abc import Iterator

import pytest
from clients import MakeClient, making_clients

from memotel import MemoryClient, Outcome, Provider, Scope, Speaker, Turn
from memotel.counts import Count
from memotel.devserver import DevServer, Route
from memotel.outcomes import Part
from memotel.policy.hygiene import build_context
from memotel.values import Memories, Memory

ADA = Scope("ada", "s")
PROMPTS = {Route.MEMORYSYNC_RECALL: "prompt", Route.REKALL_SEARCH: "query"}


@pytest.fixture
def server() -> Iterator[DevServer]:
    with DevServer() as server:
        yield server


@pytest.fixture(params=list(Provider))
def make_client(request: pytest.FixtureRequest, server: DevServer) -> Iterator[MakeClient]:
    with making_clients(request.param, server, recall_timeout=30.0) as make:
        yield make


def sent(server: DevServer) -> str:
    """Return the prompt of the one recall that was made."""
    (request,) = server.requests(*PROMPTS)
    assert request.route is not None
    return str(json.loads(request.body)[PROMPTS[request.route]])


def truncated(client: MemoryClient, part: Part) -> float:
    return client.counts.total(Count.TRUNCATED, client.provider, part)


def test_long_prompt_is_cut_at_a_word_and_the_cut_is_counted(
    make_client: MakeClient, server: DevServer
) -> None:
    client = make_client()
    before = truncated(client, Part.PROMPT)

    client.recall(ADA, "honeycomb " * 1_000)

    assert sent(server) == ("honeycomb " * 400).rstrip()
    assert truncated(client, Part.PROMPT) == before + 1


def test_short_prompt_is_not_cut_nor_counted(make_client: MakeClient, server: DevServer) -> None:
    client = make_client()
    before = truncated(client, Part.PROMPT)

    client.recall(ADA, "x" * 4_000)

    assert sent(server) == "x" * 4_000
    assert truncated(client, Part.PROMPT) == before


def test_control_characters_do_not_leave(make_client: MakeClient, server: DevServer) -> None:
    make_client().recall(ADA, "Which \x00tea\x1b[31m do\u202e I\x07 like?\r\nTell me.")

    assert sent(server) == "Which tea[31m do I like?\nTell me."


def test_control_characters_in_memories_are_not_shown(
    make_client: MakeClient, server: DevServer
) -> None:
    client = make_client()
    client.write(Turn(ADA, Speaker.HUMAN, "My favourite tea is As\x1b[31msam\u202e, without sugar"))
    assert client.flush(30).pending == 0

    found = client.recall(ADA, "Which tea is my favourite?")

    assert found.outcome is Outcome.HIT
    assert "As[31msam, without sugar" in found.context


def test_list_of_memories_is_clean_and_each_is_one_line() -> None:
    items = (Memory("1", "likes\x00 tea\u2028\u2028and\r\n\r\nhoney\u202e", 0.9),)

    assert build_context(Memories(items), 100).text == "- likes tea and honey"
    assert build_context(Memories((Memory("1", "a\x00" * 50, 0.9),)), 12).text == "- " + "a" * 10
