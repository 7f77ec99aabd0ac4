"""Dead letters in memory: how many are kept, and for how long."""

from scripted_service import Desk, desk, numbered, turn
from virtual_loop import VirtualLoop, run_virtually

from memotel.config import OutboxPolicy
from memotel.errors import InvalidRequestError
from memotel.outcomes import Adapter
from memotel.values import Write
from memotel.writes.deadletters import DeadLetter, DeadLetters

DAY_S = 86_400.0
REFUSAL = InvalidRequestError("no", status_code=422)


def letter(text: str, died_at: float) -> DeadLetter:
    return DeadLetter(
        Write(turn(text), f"key of {text}", "account", died_at, Adapter.DIRECT), "no", died_at
    )


def texts(letters: list[DeadLetter]) -> list[str]:
    return [each.write.turn.text for each in letters]


def test_newest_ten_thousand_are_kept() -> None:
    dead = DeadLetters()
    for number in range(10_005):
        dead.add(letter(str(number), 0.0))

    assert len(dead) == 10_000
    assert texts(dead.letters(0.0)) == [str(number) for number in range(5, 10_005)]


def test_they_are_kept_for_thirty_days() -> None:
    dead = DeadLetters()
    for day in range(3):
        dead.add(letter(f"day {day}", day * DAY_S))

    assert len(dead.letters(30 * DAY_S)) == 3
    assert texts(dead.letters(31 * DAY_S + 1)) == ["day 2"]
    dead.add(letter("much later", 100 * DAY_S))
    assert len(dead) == 1


def test_write_path_keeps_as_many_for_as_long_as_its_policy_says() -> None:
    async def main(loop: VirtualLoop) -> tuple[Desk, list[str]]:
        policy = OutboxPolicy(max_dead_letters=3, dead_letter_max_age_s=60.0)
        at = desk(loop, lambda _, __: REFUSAL, outbox=policy)
        at.say(*numbered(5))
        await at.path.aflush(10)
        found = texts(at.path.dead_letters())
        await at.rest(61)
        return at, found

    at, found = run_virtually(main)
    assert found == ["t2", "t3", "t4"]
    assert at.path.dead_letters() == []
