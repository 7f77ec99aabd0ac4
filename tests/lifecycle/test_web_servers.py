"""gunicorn and uvicorn are told to stop: what was accepted is delivered, once. Real servers against the development server."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from polling import eventually
from served import ASGI, AWAITS_CLOSE, MEMORY, WSGI, served

from memotel.devserver import DevServer, Fault

REQUESTS = 20
TURNS = {f"the web says /{number}": 1 for number in range(REQUESTS)}
GUNICORN = [
    "gunicorn",
    "-b",
    "127.0.0.1:{port}",
    "--preload",
    "--workers",
    "2",
    "--no-control-socket",
]
UVICORN = ["uvicorn", "--host", "127.0.0.1", "--port", "{port}", "webapp:app"]
DRAINS_ON_SIGTERM = """
import memotel

def post_worker_init(worker):
    memotel.drain_on_sigterm()
"""
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="gunicorn needs fork")


@pytest.fixture
def server() -> Iterator[DevServer]:
    """A service slow enough that turns are still on their way when the server is told to stop."""
    with DevServer() as server:
        server.faults.set(Fault("delay", "writes", delay_s=0.2))
        yield server


def arrived(server: DevServer) -> Counter[str]:
    """How often each text arrived."""
    found: Counter[str] = Counter()
    for item in server.items("ada", fate=None):
        found[item.text.removeprefix("human: ")] += item.deliveries
    return found


def run(
    server: DevServer, folder: Path, code: str, command: list[str], number: signal.Signals
) -> tuple[int, str]:
    """Serve, ask for each turn, stop; return the exit status and the log."""
    with served(folder, code, command, server.url) as web:
        eventually(web.is_up)
        assert {web.get(str(turn)) for turn in range(REQUESTS)} == {"accepted"}
        status = web.stop(number)
        return status, web.said()


@needs_fork
def test_gunicorn_delivers_what_preloaded_sync_workers_accepted(
    server: DevServer, tmp_path: Path
) -> None:
    """The memory is used before the fork too: that turn is the master's, and no worker sends it."""
    code = MEMORY + "say('the master says it')\n" + WSGI
    status, log = run(
        server, tmp_path, code, [*GUNICORN, "--worker-class", "sync", "webapp:app"], signal.SIGTERM
    )

    assert status == 0, log
    assert arrived(server) == {**TURNS, "the master says it": 1}
    assert "Traceback" not in log


@needs_fork
def test_gunicorn_delivers_what_its_asgi_workers_accepted(
    server: DevServer, tmp_path: Path
) -> None:
    command = [*GUNICORN, "--worker-class", "asgi", "webapp:app"]
    status, log = run(server, tmp_path, MEMORY + ASGI, command, signal.SIGTERM)

    assert status == 0, log
    assert arrived(server) == TURNS


@needs_fork
@pytest.mark.parametrize("way", ["closes_at_shutdown", "drains_on_sigterm"])
def test_gunicorn_with_uvicorn_workers_delivers_in_each_of_two_ways(
    server: DevServer, tmp_path: Path, way: str
) -> None:
    """A uvicorn worker ends by the signal itself, not by a normal exit, and forgets handlers set before its own."""
    code = MEMORY + ASGI
    if way == "closes_at_shutdown":
        code += AWAITS_CLOSE
    else:
        (tmp_path / "gunicorn.conf.py").write_text(DRAINS_ON_SIGTERM)
    command = [*GUNICORN, "--worker-class", "uvicorn.workers.UvicornWorker", "webapp:app"]
    status, log = run(server, tmp_path, code, command, signal.SIGTERM)

    assert status == 0, log
    assert arrived(server) == TURNS


def test_uvicorn_delivers_where_the_application_closes_its_memory_at_shutdown(
    server: DevServer, tmp_path: Path
) -> None:
    code = MEMORY + ASGI + AWAITS_CLOSE
    status, log = run(server, tmp_path, code, UVICORN, signal.SIGTERM)

    assert status in (0, -signal.SIGTERM), log
    assert arrived(server) == TURNS
    assert "Traceback" not in log


def test_uvicorn_delivers_on_sigterm_where_that_was_asked_for(
    server: DevServer, tmp_path: Path
) -> None:
    """uvicorn gives the signal back when it is done, to the handler that was there before."""
    code = MEMORY + ASGI + "memotel.drain_on_sigterm()\n"
    (tmp_path / "serve.py").write_text(
        "import sys, uvicorn, webapp\n"
        "uvicorn.run(webapp.app, host='127.0.0.1', port=int(sys.argv[1]))\n"
    )
    status, log = run(server, tmp_path, code, ["serve", "{port}"], signal.SIGTERM)

    assert status == 128 + signal.SIGTERM, log
    assert arrived(server) == TURNS


def test_uvicorn_delivers_on_sigint(server: DevServer, tmp_path: Path) -> None:
    """It ends by KeyboardInterrupt, which is a normal end: exit handlers run."""
    status, log = run(server, tmp_path, MEMORY + ASGI, UVICORN, signal.SIGINT)

    assert status in (0, 1, 128 + signal.SIGINT, -signal.SIGINT), log
    assert arrived(server) == TURNS
