"""`memotel demo`: tell, recall in a second session, then the timed programme; at the end a summary that is checked."""

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from autogen.io import IOStream
from rich.console import Console, RenderableType
from rich.live import Live
from rich.logging import RichHandler

from memotel import runtime
from memotel.config import BreakerPolicy
from memotel.demo.conversations import Ag2Conversation, AutoGenConversation, Silence, Tempo
from memotel.demo.load import Load
from memotel.demo.meter import Meter
from memotel.demo.programme import PROGRAMME, Phase, heal
from memotel.demo.screen import law, live, services
from memotel.demo.script import PEOPLE
from memotel.devserver import DevServer
from memotel.errors import ConfigurationError
from memotel.outcomes import Provider
from memotel.telemetry import setup

EXIT_FAILED = 1
EXIT_USAGE = 2
REFRESH_S = 0.2
PROGRAMME_S = 55.0
FAST_PROGRAMME_S = 6.0
FAST = Tempo(
    recall_timeout_s=0.3,
    breaker=BreakerPolicy(open_s=0.5, max_open_s=1.0),
    writes=replace(Tempo().writes, backoff_max_s=0.3, quota_recheck_s=0.3, attempt_budget_s=0.5),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; return 0 where every turn was answered and every write is accounted for."""
    options = _parser().parse_args(argv)
    console = Console()
    _quiet(console)
    try:
        exporter = setup(
            service_name="memotel-demo",
            prometheus_host=options.metrics_host,
            prometheus_port=options.metrics_port,
        )
    except ConfigurationError as error:
        told = str(error).replace("prometheus_", "--metrics-")
        sys.stderr.write(f"memotel demo: {told}\n")
        return EXIT_USAGE
    try:
        with DevServer() as server:
            console.print(
                f"Development server on {server.url}, metrics on http://{exporter.host}:{exporter.port}/metrics"
            )
            return _run(console, server, options)
    except KeyboardInterrupt:
        console.print("Interrupted.")
        return 0
    finally:
        exporter.shutdown()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="memotel demo", description=__doc__)
    parser.add_argument("--fast", action="store_true", help="end in about ten seconds")
    parser.add_argument(
        "--hold", action="store_true", help="cycle through the programme until interrupted"
    )
    parser.add_argument("--metrics-host", default=None, help="where metrics are served (127.0.0.1)")
    parser.add_argument(
        "--metrics-port", type=int, default=9464, help="port of the metrics (9464; 0 = any)"
    )
    return parser


def _quiet(console: Console) -> None:
    """Have AG2 print nothing and memotel's own log lines appear above the table."""
    IOStream.set_global_default(Silence())
    logging.getLogger("autogen.oai.client").setLevel(logging.WARNING)
    handler = RichHandler(console=console, show_path=False, show_level=False)
    logging.getLogger("memotel").addHandler(handler)


def _run(console: Console, server: DevServer, options: argparse.Namespace) -> int:
    tempo = FAST if options.fast else Tempo()
    length_s = FAST_PROGRAMME_S if options.fast else PROGRAMME_S
    meter = Meter()
    remembered = _two_sessions(console, server.url)
    load = Load(server.url, tempo, meter)
    load.start()
    try:
        _perform(console, server, meter, length_s)
        while options.hold:
            _perform(console, server, meter, length_s)
    except KeyboardInterrupt:
        console.print("Interrupted; here is how it went so far.")
    finally:
        load.stop()
        heal(server)
    return _summary(console, load, meter, is_remembered=remembered)


def _two_sessions(console: Console, url: str) -> bool:
    """Tell each agent facts in one session, ask in another, without haste; return whether all came back.

    Closing both lets their accounts go, so that the programme's own tempo holds from its first call.
    """
    tempo = Tempo()
    console.rule("A first session tells, a second one asks")
    right = [_with_ag2(console, url, tempo)]
    right.append(asyncio.run(_with_autogen(console, url, tempo)))
    return all(right)


def _with_ag2(console: Console, url: str, tempo: Tempo) -> bool:
    right = []
    for person in PEOPLE[:2]:
        first = Ag2Conversation(person.name, "first", url, tempo)
        for fact in person.facts:
            first.say(fact.said)
        first.memory.flush()
        second = Ag2Conversation(person.name, "second", url, tempo)
        for fact in person.facts:
            reply = second.say(fact.question)
            right.append(fact.word in reply.text)
            _show(console, (second.framework, person.name), fact.question, reply.text)
        first.memory.close()
        second.memory.close()
    return all(right)


async def _with_autogen(console: Console, url: str, tempo: Tempo) -> bool:
    right = []
    for person in PEOPLE[:2]:
        first = AutoGenConversation(person.name, "first", url, tempo)
        for fact in person.facts:
            await first.say(fact.said)
        await first.memory.aflush()
        second = AutoGenConversation(person.name, "second", url, tempo)
        for fact in person.facts:
            reply = await second.say(fact.question)
            right.append(fact.word in reply.text)
            _show(console, (second.framework, person.name), fact.question, reply.text)
        await first.memory.close()
        await second.memory.close()
    return all(right)


def _show(console: Console, who: tuple[str, str], question: str, answer: str) -> None:
    framework, person = who
    console.print(f"[dim]{framework:<17}[/] [bold]{person}[/]: {question}  [green]{answer}[/]")


def _perform(console: Console, server: DevServer, meter: Meter, length_s: float) -> None:
    """Run the programme once: live in a terminal, a line for each phase elsewhere."""
    if console.is_terminal:
        with Live(console=console, auto_refresh=False, transient=True) as screen:
            for phase, share in _phases(server, length_s):
                screen.update(_screen(phase, share, meter), refresh=True)
        return
    last = None
    for phase, _ in _phases(server, length_s):
        if phase is not last:
            console.print(f"{phase.name}: {phase.watch}")
            last = phase
    console.print(services(runtime.current().counts.snapshot()))


def _phases(server: DevServer, length_s: float) -> Iterator[tuple[Phase, float]]:
    """Take the server through the programme; yields the phase and the share of time gone, several times a second."""
    started_at = until = time.monotonic()
    for phase in PROGRAMME:
        phase.prepare(server)
        until += phase.share * length_s
        while (now := time.monotonic()) < until:
            yield phase, (now - started_at) / length_s
            time.sleep(REFRESH_S)


def _screen(phase: Phase, share: float, meter: Meter) -> RenderableType:
    counts = runtime.current().counts
    return live(phase, share, counts, meter)


def _summary(console: Console, load: Load, meter: Meter, *, is_remembered: bool) -> int:
    """Flush, then say how it went; the exit status follows from it."""
    for talk in load.ag2:
        talk.memory.flush(10.0)
    for run in load.autogen:
        run.memory.flush(10.0)
    shot = runtime.current().counts.snapshot()
    waits = meter.waits()
    console.rule("Summary")
    console.print(services(shot))
    console.print(
        f"{waits.turns} turns answered, {meter.broken} not; a person waited for memory "
        f"{waits.p50_s * 1e3:.0f} ms (p50), {waits.p99_s * 1e3:.0f} ms (p99), {waits.max_s * 1e3:.0f} ms (most)."
    )
    laws = [law(shot, provider) for provider in Provider]
    console.print("Conservation law, every accepted write accounted for:")
    for line, holds in laws:
        console.print(f"  {line}", style="green" if holds else "red")
    is_well = is_remembered and meter.broken == 0 and all(holds for _, holds in laws)
    console.print("All is well." if is_well else "Something went wrong.", style="bold")
    return 0 if is_well else EXIT_FAILED
