"""Ports that refuse, and ports that let one wait."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


def refused_port() -> int:
    """Return a loopback port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@asynccontextmanager
async def full_backlog() -> AsyncIterator[int]:
    """Listen without accepting, with a full queue, so that Linux leaves further connections waiting."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        try:
            for sock in waiting:
                sock.setblocking(False)
                sock.connect_ex(("127.0.0.1", port))
            yield port
        finally:
            for sock in waiting:
                sock.close()
