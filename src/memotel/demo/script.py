"""Who speaks in the demo and what they say: facts that are told, and questions that only memory can answer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing a person says, a question about it, and a word that a right answer holds."""

    said: str
    question: str
    word: str


@dataclass(frozen=True, slots=True)
class Person:
    """One person and what they tell the agents."""

    name: str
    facts: tuple[Fact, ...]


PEOPLE = (
    Person(
        "ada",
        (
            Fact("My favourite tea is Assam, without sugar.", "What is my favourite tea?", "Assam"),
            Fact("My sister Mary lives in Lisbon.", "Where does my sister Mary live?", "Lisbon"),
            Fact("I am allergic to walnuts.", "What am I allergic to?", "walnuts"),
        ),
    ),
    Person(
        "ben",
        (
            Fact("My bicycle is a green Dawes from 1984.", "What colour is my bicycle?", "green"),
            Fact("I play the cello on Thursdays.", "When do I play the cello?", "Thursdays"),
            Fact("My project is called Heron.", "What is my project called?", "Heron"),
        ),
    ),
    Person(
        "chi",
        (
            Fact("My cat Tom sleeps in the piano.", "Where does my cat Tom sleep?", "piano"),
            Fact("I write my reports in Markdown.", "In what do I write my reports?", "Markdown"),
            Fact(
                "My flight to Oslo leaves on Monday.",
                "When does my flight to Oslo leave?",
                "Monday",
            ),
        ),
    ),
)


def small_talk(number: int) -> str:
    """Return the `number`-th remark of a conversation; no two are equal, so each is a new turn to store."""
    subjects = ("the harbour", "the old mill", "the night train", "the orchard", "the lighthouse")
    return f"Remember for note {number} that I walked to {subjects[number % len(subjects)]}."
