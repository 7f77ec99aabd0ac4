"""The pytest plugin that users get."""

import subprocess
import sys

from devserver_http import client_of, recall, remember

from memotel.devserver import DevServer
from memotel.testing import SetFault


def test_plugin_imports_nothing_heavy_until_a_fixture_is_used() -> None:
    heavy = ("starlette", "uvicorn", "trustme", "sqlite3", "httpx", "httpcore", "opentelemetry")
    # What coverage has imported in this interpreter is not the plugin's.
    code = (
        "import sys; before = set(sys.modules); import memotel.testing\n"
        f"print([n for n in {heavy} if n in set(sys.modules) - before])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout == "[]\n"


def test_memory_server_is_healthy_and_empty(memory_server: DevServer) -> None:
    with client_of(memory_server) as client:
        assert memory_server.items() == ()
        assert memory_server.faults.in_force() == ()
        assert remember(client, "I drink sencha").status_code == 201


def test_fault_strikes_the_memory_server(memory_server: DevServer, fault: SetFault) -> None:
    fault("status", on="recalls", status=503)
    with client_of(memory_server) as client:
        assert recall(client, "tea").status_code == 503
        assert remember(client, "I drink sencha").status_code == 201


def test_memory_server_tls_is_trusted_by_its_authority(memory_server_tls: DevServer) -> None:
    assert memory_server_tls.url.startswith("https://127.0.0.1:")
    with client_of(memory_server_tls) as client:
        assert recall(client, "tea").status_code == 200
