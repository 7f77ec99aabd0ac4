"""A metrics endpoint that emits every instrument of memotel with every label value, growing at each scrape."""

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from memotel.telemetry.names import INSTRUMENTS, Instrument, Kind

_OPEN_VALUES = ("one",)


def exposition(scrape: int) -> str:
    """Return the text format of everything after `scrape` scrapes; a counter's series is worth `scrape`."""
    return "".join(_family(instrument, scrape) for instrument in INSTRUMENTS)


def _family(instrument: Instrument, scrape: int) -> str:
    name = instrument.prometheus_name
    head = f"# HELP {name} {instrument.description}\n# TYPE {name} {instrument.kind}\n"
    return head + "".join(
        line for labels in _label_sets(instrument) for line in _series(instrument, labels, scrape)
    )


def _label_sets(instrument: Instrument) -> Iterator[list[str]]:
    values = [label.values or _OPEN_VALUES for label in instrument.labels]
    keys = [label.prometheus_name for label in instrument.labels]
    for chosen in itertools.product(*values):
        yield [f'{key}="{value}"' for key, value in zip(keys, chosen, strict=True)]


def _series(instrument: Instrument, labels: list[str], scrape: int) -> Iterator[str]:
    name = instrument.prometheus_name
    if instrument.kind is Kind.HISTOGRAM:
        for bound in (*instrument.bounds, "+Inf"):
            bounded = ",".join([*labels, f'le="{bound}"'])
            yield f"{name}_bucket{{{bounded}}} {scrape}\n"
        yield f"{name}_sum{{{','.join(labels)}}} {scrape * 0.0005}\n"
        yield f"{name}_count{{{','.join(labels)}}} {scrape}\n"
    else:
        yield f"{name}{{{','.join(labels)}}} {scrape if instrument.kind is Kind.COUNTER else 1}\n"


@contextmanager
def serving_the_catalogue(*, is_idle: bool = False) -> Iterator[str]:
    """Serve /metrics on a free loopback port; yields "host:port". An idle process's counters stand still."""
    scrapes = itertools.repeat(1) if is_idle else itertools.count(1)

    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = exposition(next(scrapes)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: the test's output is not a place for an access log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
    thread = threading.Thread(target=server.serve_forever, name="catalogue")
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(timeout=10)
        server.server_close()
