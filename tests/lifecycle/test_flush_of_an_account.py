"""`flush` and `close` of one memory wait for the writes of its account, whichever memory accepted them."""

from collections.abc import Iterator

import pytest
from talks import TALKS, StartTalk, kept, starting

from memotel.devserver import DevServer, Fault

FACT = "I keep seven hives of bees behind the house"


@pytest.fixture(params=TALKS)
def talk(request: pytest.FixtureRequest, memory_server: DevServer) -> Iterator[StartTalk]:
    """Return what starts a talk with one of the four memories; the service takes a moment for each write."""
    memory_server.faults.set(Fault("delay", "writes", delay_s=0.3))
    with starting(TALKS[request.param], memory_server, exit_drain_timeout=0.0) as start:
        yield start


@pytest.mark.parametrize("end", ["flush", "close"])
def test_writes_of_another_memory_of_the_account_are_waited_for(
    talk: StartTalk, memory_server: DevServer, end: str
) -> None:
    mine, other = talk(session_id="mine"), talk(session_id="other")
    mine.say("I have something to tell you as well")
    other.say(FACT)
    assert kept(memory_server)[FACT] == 0

    if end == "flush":
        assert mine.flush().pending == 0
    else:
        mine.close(30.0)

    assert kept(memory_server)[FACT] == 1


def test_writes_of_another_account_are_not_waited_for(
    talk: StartTalk, memory_server: DevServer
) -> None:
    mine, other = talk(api_key="rk_mine"), talk(api_key="rk_other")
    mine.say("I have something to tell you as well")
    assert mine.flush().pending == 0
    memory_server.faults.set(Fault("hang", "writes"))
    other.say(FACT)

    assert mine.flush(30.0).pending == 0
    assert other.books().pending > 0
