"""The agents of one fault: the demo's conversations at a person's pace, well at first, then struck."""

import logging
import threading
import time

from autogen.io import IOStream
from tools.game_day.faults import GameFault

from memotel import runtime
from memotel.counts import Count
from memotel.demo.conversations import Silence, Tempo
from memotel.demo.load import Load
from memotel.demo.meter import Meter
from memotel.devserver import DevServer
from memotel.outcomes import Outcome, Provider
from memotel.telemetry import setup

PACE_S = 3.0
"""Between two turns of a conversation; four conversations run side by side."""
QUICK_PACE_S = 0.2


def watch(fault: GameFault, healthy_s: float) -> None:
    """Talk for `healthy_s`, strike, and go on until this process is ended.

    Prints where its metrics are, and when the fault began (seconds since 1970).
    """
    _quiet()
    exporter = setup(service_name=fault.name, prometheus_port=0)
    with DevServer() as server:
        if fault.is_from_the_start and fault.strike:
            fault.strike(server)
        load = Load(server.url, Tempo(), Meter(), PACE_S)
        print(f"metrics on {exporter.host}:{exporter.port}", flush=True)
        load.start()
        if not fault.is_from_the_start:
            _pass(healthy_s)
            if fault.strike:
                fault.strike(server)
        print(f"struck at {time.time():.3f}", flush=True)
        if fault.strike:
            threading.Event().wait()


def measure(seconds: float) -> dict[Provider, float]:
    """Talk to healthy services for so long; return the share of answered recalls that were hits, by provider."""
    _quiet()
    with DevServer() as server:
        load = Load(server.url, Tempo(), Meter(), QUICK_PACE_S)
        load.start()
        _pass(seconds)
        load.stop()
    found = runtime.current().counts.snapshot()[Count.RECALLS]
    shares = {}
    for provider in Provider:
        by_outcome = {
            outcome: sum(
                count for labels, count in found.items() if labels[::2] == (provider, outcome)
            )
            for outcome in (Outcome.HIT, Outcome.EMPTY)
        }
        shares[provider] = by_outcome[Outcome.HIT] / sum(by_outcome.values())
    return shares


def _quiet() -> None:
    IOStream.set_global_default(Silence())
    logging.getLogger("autogen.oai.client").setLevel(logging.ERROR)


def _pass(seconds: float) -> None:
    threading.Event().wait(seconds)
