"""Which utterances are one write and which are two, where both frameworks and both services do alike: real agents."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from talks import REPLY, TALKS, StartTalk, deliveries, kept, starting

from memotel.devserver import DevServer
from memotel.outcomes import WriteOutcome
from memotel.testing import SetFault

FACT = "I keep seven hives of bees behind the house"
SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture(params=TALKS)
def corner(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def talk(corner: str, memory_server: DevServer) -> Iterator[StartTalk]:
    """Return what starts a talk: user ada, session monday, one key, unless given otherwise."""
    with starting(TALKS[corner], memory_server, close_s=1.0) as start:
        yield start


@pytest.mark.parametrize(
    "elsewhere",
    [{"user_id": "bob"}, {"session_id": "tuesday"}, {"api_key": "rk_other"}],
    ids=["user", "session", "account"],
)
def test_same_words_of_another_user_session_or_account_are_a_write_of_their_own(
    talk: StartTalk, memory_server: DevServer, elsewhere: dict[str, str]
) -> None:
    for one in (talk(), talk(**elsewhere)):
        one.say(FACT)
        assert one.flush().pending == 0
    assert kept(memory_server) == deliveries(memory_server) == {FACT: 2, REPLY: 2}


def test_same_words_of_another_speaker_are_a_write_of_their_own(
    talk: StartTalk, memory_server: DevServer
) -> None:
    parrot = talk(answers=[FACT])
    parrot.say(FACT)
    assert parrot.flush().pending == 0
    assert kept(memory_server) == deliveries(memory_server) == {FACT: 2}


@pytest.mark.parametrize("is_new_chat", [False, True], ids=["same-chat", "new-chat"])
def test_persons_words_said_again_are_two_and_the_agents_identical_reply_is_one(
    talk: StartTalk, memory_server: DevServer, is_new_chat: bool
) -> None:
    one = talk()
    for _ in range(2):
        one.say(FACT, is_new_chat=is_new_chat)
    assert one.flush().pending == 0
    assert kept(memory_server) == deliveries(memory_server) == {FACT: 2, REPLY: 1}


def test_agents_identical_reply_is_kept_in_each_session(
    talk: StartTalk, memory_server: DevServer
) -> None:
    for session in ("monday", "tuesday"):
        one = talk(session_id=session)
        one.say(f"On {session} I look after the bees")
        one.say(f"On {session} I look after the bees again")
        assert one.flush().pending == 0
    assert kept(memory_server)[REPLY] == 2


def test_write_that_failed_for_good_is_written_when_it_is_said_again(
    talk: StartTalk, memory_server: DevServer, fault: SetFault
) -> None:
    one = talk()
    fault("status", on="writes", status=422)
    one.say(FACT)
    assert one.flush().failed == 2
    assert kept(memory_server) == {}
    memory_server.faults.clear()
    one.say(FACT, is_new_chat=True)
    assert one.flush().pending == 0
    assert kept(memory_server) == deliveries(memory_server) == {FACT: 1, REPLY: 1}
    ended = one.books().ended
    assert (ended[WriteOutcome.REJECTED], one.books().delivered) == (2, 2)


@pytest.mark.parametrize("kind", ["reset", "reset_body", "status"])
def test_answer_that_is_lost_on_the_way_leaves_one_on_the_server(
    talk: StartTalk, memory_server: DevServer, fault: SetFault, kind: str
) -> None:
    one = talk()
    fault(kind, on="writes", stored=True, first_attempt=True)
    one.say(FACT)
    report = one.flush()
    assert (report.pending, report.failed) == (0, 0)
    assert kept(memory_server) == {FACT: 1, REPLY: 1}
    assert deliveries(memory_server) == {FACT: 2, REPLY: 2}
    books = one.books()
    assert (books.delivered, books.ended.get(WriteOutcome.STORED, 0)) == (2, 0)


FRESH_PROCESS = """
import sys
from talks import TALKS
for corner in sys.argv[2:]:
    talk = TALKS[corner](sys.argv[1], api_key=f"rk_{corner}")
    talk.say("I keep seven hives of bees behind the house")
    assert talk.flush().pending == 0
    talk.close()
    assert talk.books().unaccounted == 0
    print(corner, talk.books().delivered, talk.books().ended.get("stored", 0))
"""


def test_fresh_process_that_says_the_same_first_words_converges(memory_server: DevServer) -> None:
    """The service has the words under the same key: its replay rule finds them."""
    for corner, make in TALKS.items():
        first = make(memory_server.url, api_key=f"rk_{corner}")
        first.say(FACT)
        assert first.flush().pending == 0
        first.close()
    assert kept(memory_server) == deliveries(memory_server) == {FACT: 4, REPLY: 4}
    command = [sys.executable, "-c", FRESH_PROCESS, memory_server.url, *TALKS]
    fresh = subprocess.run(
        command, cwd=SUPPORT, capture_output=True, text=True, timeout=100, check=False
    )
    assert fresh.returncode == 0, fresh.stderr
    lines = [line for line in fresh.stdout.splitlines() if line.startswith(tuple(TALKS))]
    assert lines == [f"{corner} 2 0" for corner in TALKS]
    assert kept(memory_server) == {FACT: 4, REPLY: 4}
    assert deliveries(memory_server) == {FACT: 8, REPLY: 8}
