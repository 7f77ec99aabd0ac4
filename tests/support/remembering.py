"""Facts put into the development server as another client would, without memotel."""

import json
from http.client import HTTPConnection
from urllib.parse import urlsplit

from memotel.devserver import DevServer

KEY = "rk_tests"


def remember(server: DevServer, *texts: str, key: str = KEY) -> None:
    """Store texts as Rekall memories of the key's user."""
    parts = urlsplit(server.url)
    connection = HTTPConnection(str(parts.hostname), parts.port, timeout=10)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    for text in texts:
        body = json.dumps({"content": text, "type": "semantic", "metadata": {"origin": "test"}})
        connection.request("POST", "/api/v2/memories", body, headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 201, answer.status
    connection.close()
