"""What a turn pays for a write that it hands over: nothing that delivery can do."""

import sys
from collections import Counter
from types import FrameType

from memotel import Adapter, MemoryClient, Provider, Scope, Speaker, Turn, resolve
from memotel.devserver import DevServer, Route

LONG = "I keep seven hives of bees. " * 571


def test_seed_of_a_long_turn_is_computed_at_delivery_and_not_in_the_turn() -> None:
    """FNV-1a steps through the text one character at a time, which takes some milliseconds for 16,000."""
    called: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called[frame.f_code.co_name] += 1

    with (
        DevServer() as server,
        MemoryClient(
            resolve(Provider.MEMORYSYNC, Adapter.AG2, url=server.url, api_key="ms_1")
        ) as client,
    ):
        turn = Turn(Scope("ada", "s"), Speaker.HUMAN, LONG)
        sys.setprofile(note)
        try:
            client.write(turn, history=[(Speaker.HUMAN, LONG)])
        finally:
            sys.setprofile(None)
        assert client.flush(30).pending == 0
        (request,) = server.requests(Route.MEMORYSYNC_ADD_TURN)

    assert b"human@ag2::s#h" in request.body
    assert called["accept"] >= 1
    assert called["fnv1a64"] == 0
