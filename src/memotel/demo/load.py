"""Agents that keep talking while the programme runs: threads for AG2, one event loop for AutoGen."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from itertools import count

from memotel.demo.conversations import Ag2Conversation, AutoGenConversation, Reply, Tempo
from memotel.demo.meter import Meter
from memotel.demo.script import PEOPLE, Person, small_talk

_log = logging.getLogger("memotel.demo")
PACE_S = 0.25
AUTOGEN_TASKS = 2
Line = tuple[str, str | None]


class Load:
    """Conversations in the background until `stop`. Nothing starts before `start`."""

    def __init__(self, url: str, tempo: Tempo, meter: Meter, pace_s: float = PACE_S) -> None:
        self._meter = meter
        self._pace_s = pace_s
        self._stop = threading.Event()
        self.ag2 = [Ag2Conversation(p.name, "programme", url, tempo) for p in PEOPLE[:2]]
        self.autogen = [
            AutoGenConversation(p.name, "programme", url, tempo) for p in PEOPLE[:AUTOGEN_TASKS]
        ]
        self._threads = [
            *(
                threading.Thread(target=self._run_ag2, args=(talk, person), daemon=True)
                for talk, person in zip(self.ag2, PEOPLE, strict=False)
            ),
            threading.Thread(target=lambda: asyncio.run(self._run_autogen()), daemon=True),
        ]

    def start(self) -> None:
        """Begin to talk."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Let every conversation finish its turn and end."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout_s)

    def _run_ag2(self, talk: Ag2Conversation, person: Person) -> None:
        for text, word in _lines(person):
            try:
                self._count(talk.say(text), word)
            except Exception:  # noqa: BLE001 # whatever broke the turn, the demo counts it and goes on
                _log.exception("a turn was not answered")
                self._meter.failure()
            if self._stop.wait(self._pace_s):
                return

    async def _run_autogen(self) -> None:
        await asyncio.gather(
            *(
                self._talk_autogen(talk, person)
                for talk, person in zip(self.autogen, PEOPLE, strict=False)
            )
        )

    async def _talk_autogen(self, talk: AutoGenConversation, person: Person) -> None:
        for text, word in _lines(person):
            try:
                self._count(await talk.say(text), word)
            except Exception:  # noqa: BLE001 # whatever broke the turn, the demo counts it and goes on
                _log.exception("a turn was not answered")
                self._meter.failure()
            if self._stop.is_set():
                return
            await asyncio.sleep(self._pace_s)

    def _count(self, reply: Reply, word: str | None) -> None:
        self._meter.turn(reply.wait_s, is_remembered=None if word is None else word in reply.text)


def _lines(person: Person) -> Iterator[Line]:
    """Yield what a person says, for ever: a question on a told fact, then a remark that is new each time."""
    for number in count():
        fact = person.facts[number % len(person.facts)]
        yield fact.question, fact.word
        yield small_talk(number), None
