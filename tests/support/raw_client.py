"""A client that speaks bytes: it sees what an HTTP client hides."""

import json
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit


def connect(url: str, ca_file: Path | None = None) -> socket.socket:
    """Open a TCP connection, and TLS over it if an authority is given, with a 5 s limit a step."""
    parts = urlsplit(url)
    sock = socket.create_connection((parts.hostname, parts.port), timeout=5.0)
    if ca_file is None:
        return sock
    return ssl.create_default_context(cafile=ca_file).wrap_socket(
        sock, server_hostname=parts.hostname
    )


def wait_until_it_listens(url: str) -> None:
    """Return when TCP connects; a connection refused is tried again for 10 s."""
    parts = urlsplit(url)
    ends_at = time.monotonic() + 10.0
    while True:
        try:
            socket.create_connection((parts.hostname, parts.port), timeout=5.0).close()
        except ConnectionRefusedError:
            if time.monotonic() > ends_at:
                raise
        else:
            return


def post(path: str, body: dict[str, object], **headers: str) -> bytes:
    """Return the bytes of a POST request that asks for the connection to be closed."""
    data = json.dumps(body).encode()
    fields = {"Host": "server", "Content-Length": str(len(data)), "Connection": "close"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode() + data


def chunks(sock: socket.socket) -> Iterator[bytes]:
    """Yield what each read returns until the end of the stream."""
    while data := sock.recv(65536):
        yield data
