"""Web applications that accept a turn with each request, under gunicorn and uvicorn, as real processes."""

import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from unmeasured import unmeasured

STOP_S = 60.0
"""Far above what a graceful stop takes, on a busy machine too."""

MEMORY = """
import os
import memotel
from memotel import Adapter, MemoryClient, Provider, Scope, Speaker, Turn, resolve

memory = MemoryClient(
    resolve(
        Provider.MEMORYSYNC,
        Adapter.DIRECT,
        url=os.environ["MEMORY_URL"],
        api_key="k",
        exit_drain_timeout=30.0,
    )
)

def say(text):
    turn = Turn(Scope("ada", text), Speaker.HUMAN, text, source="test")
    return memory.write(turn).status.value.encode()
"""

WSGI = """
def app(environ, start_response):
    status = say(f"the web says {environ['PATH_INFO']}")
    start_response("200 OK", [("Content-Length", str(len(status)))])
    return [status]
"""

ASGI = """
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            event = await receive()
            if event["type"] == "lifespan.shutdown":
                await at_shutdown()
            await send({"type": event["type"] + ".complete"})
            if event["type"] == "lifespan.shutdown":
                return
    status = say(f"the web says {scope['path']}")
    head = {"type": "http.response.start", "status": 200, "headers": []}
    await send(head)
    await send({"type": "http.response.body", "body": status})

async def at_shutdown():
    pass
"""

AWAITS_CLOSE = """
async def at_shutdown():
    await memory.aclose(30.0)
"""


def free_port() -> int:
    """Return a port of the loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Served:
    """A running web server."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
        self.process = process
        self.port = port
        self.log = log

    def get(self, path: str) -> str:
        """Ask for a path; return what the application says."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.port}/{path}", timeout=30) as answer:
            return str(answer.read().decode())

    def stop(self, number: signal.Signals) -> int:
        """Send a signal; return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(timeout=STOP_S)

    def said(self) -> str:
        """Return what the server logged."""
        return self.log.read_text()

    def is_up(self) -> bool:
        """Whether it accepts connections."""
        assert self.process.poll() is None, self.said()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@contextmanager
def served(folder: Path, code: str, command: Sequence[str], memory_url: str) -> Iterator[Served]:
    """Run `python -m command`, in which {port} is replaced, in a folder whose `webapp.py` holds the code."""
    (folder / "webapp.py").write_text(code)
    port = free_port()
    arguments = [part.format(port=port) for part in command]
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=folder,
            env={**unmeasured(), "MEMORY_URL": memory_url},
            stdout=output,
            stderr=output,
        )
        try:
            yield Served(process, port, log)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait(timeout=STOP_S)
