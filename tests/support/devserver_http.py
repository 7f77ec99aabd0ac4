"""HTTP clients for a development server, and the requests of its services."""

import ssl
from collections.abc import Mapping

import httpx

from memotel.devserver import DevServer

# A client without one builds its own, which takes longer than the requests of a whole test.
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def local_client(url: str, headers: Mapping[str, str]) -> httpx.Client:
    """Return a client for plain http on this machine, whatever proxy the environment names."""
    return httpx.Client(
        base_url=url, headers=headers, timeout=30.0, trust_env=False, verify=_NO_TLS
    )


def client_of(server: DevServer, timeout_s: float = 5.0) -> httpx.Client:
    """Return a client with a key of each service."""
    ca_file = server.ca_file
    verify = _NO_TLS if ca_file is None else ssl.create_default_context(cafile=ca_file)
    headers = {"X-API-Key": "key", "Authorization": "Bearer rk_key"}
    return httpx.Client(
        base_url=server.url, headers=headers, timeout=timeout_s, trust_env=False, verify=verify
    )


def remember(client: httpx.Client, text: str, user: str = "ada") -> httpx.Response:
    """Send a person's turn to MemorySync, with a key of its own for each text."""
    turn = {
        "tenant_id": "default",
        "user_id": user,
        "source": "ag2",
        "text": f"human: {text}",
        "role": "user",
        "speaker": f"human@ag2::s#{text}",
        "metadata": {"session_id": "ag2::s"},
        "sync_embed": False,
    }
    return client.post("/v1/memory/add_turn", json=turn)


def recall(client: httpx.Client, prompt: str, user: str = "ada") -> httpx.Response:
    """Recall from MemorySync."""
    asked = {"tenant_id": "default", "user_id": user, "prompt": prompt, "k": 5}
    return client.post("/v1/memory/recall", json=asked)


def create(client: httpx.Client, content: str, key: str) -> httpx.Response:
    """Create a memory in Rekall."""
    body = {"content": content, "type": "semantic", "metadata": {}}
    return client.post("/api/v2/memories", json=body, headers={"Idempotency-Key": key})


def search(client: httpx.Client, query: str) -> httpx.Response:
    """Search Rekall."""
    return client.post("/api/v2/memories/search", json={"query": query, "limit": 5})
